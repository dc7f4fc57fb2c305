"""Table files: text stays text, whatever wrote the file; a file is written whole or not at all."""

import gzip
import io
import os
import stat
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bfsoft as bf
from bfsoft.errors import DataError
from bfsoft.tables import atomic, check_writable

DOMAIN = bf.Domain(
    [bf.Numeric("age", 17, 90), bf.Categorical("job", ["?", "NA", "no", "a;b"]), bf.Numeric("pay", 0, 10, 0.5)]
)


def read(text, domain=None):
    return bf.read_table(io.BytesIO(text.encode("utf-8") if isinstance(text, str) else text), domain)


# ------------------------------------------------------------------ reading what people's programs write

EXPECTED = {"age": [41, 37], "job": ["NA", "a;b"], "pay": [1.5, 2.0]}


@pytest.mark.parametrize(
    "text",
    [
        "age,job,pay\n41,NA,1.5\n37,a;b,2\n",
        "\ufeffage,job,pay\r\n41,NA,1.5\r\n37,a;b,2\r\n",
        'age;job;pay\n41;NA;1,5\n37;"a;b";2\n',
        "age\tjob\tpay\n41\tNA\t1.5\n37\ta;b\t2",
        "age|job|pay\n41|NA|1.5\n37|a;b|2.0",
        "\n\nage,job,pay\n\n41,NA,1.5\n\n\n37,a;b,2\n\n",
        'age , job , pay\n 41, NA, 1.5\n37,"a;b", 2\n',
        '"age","job","pay"\n"41","NA","1.5"\n"37","a;b","2"\n',
        "note,age,job,pay\n\"two\nlines, and a \"\"quote\"\"\",41,NA,1.5\nx,37,a;b,2\n",
        "age,job,pay\r41,NA,1.5\r37,a;b,2\r",
        "age,job,pay\n41,NA,1.5\n37,a;b,2\n".encode("utf-16"),
        gzip.compress(b"age,job,pay\n41,NA,1.5\n37,a;b,2\n", mtime=0),
    ],
)  # fmt: skip
def test_the_same_table_from_many_files(text):
    frame = read(text, DOMAIN)
    assert frame[list(DOMAIN.names)].to_dict("list") == EXPECTED
    assert DOMAIN.encode(frame).shape == (2, 3)


def test_from_paths_open_text_and_parquet(tmp_path):
    frame = pd.DataFrame(EXPECTED)
    for name in ("t.csv", "t.csv.gz", "t.parquet"):
        bf.write_table(frame, tmp_path / name)
        assert bf.read_table(tmp_path / name, DOMAIN).to_dict("list") == EXPECTED
        assert bf.read_table(str(tmp_path / name)).to_dict("list") == EXPECTED
    assert gzip.decompress((tmp_path / "t.csv.gz").read_bytes()) == (tmp_path / "t.csv").read_bytes()
    assert bf.read_table(io.StringIO("age,job,pay\n41,NA,1.5\n37,a;b,2\n"), DOMAIN).to_dict("list") == EXPECTED


def test_only_an_empty_cell_is_missing():
    frame = read('a,b\nNA,1\nnull,\n,3\n"",4\nnan,5\n')
    assert frame.a.isna().tolist() == [False, False, True, True, False]
    assert frame.a[0] == "NA"
    assert frame.b.isna().tolist() == [False, True, False, False, False]
    assert frame.b.dtype == float


def test_without_a_domain_a_column_is_numbers_only_if_nothing_is_lost():
    frame = read("whole,real,zip,id,mixed,flag\n1,1.5,01234,12345678901234567890,1,true\n-2,2e3,99999,1,x,false\n")
    assert frame.whole.tolist() == [1, -2]
    assert frame.whole.dtype == np.int64
    assert frame.real.tolist() == [1.5, 2000.0]
    assert frame.zip.tolist() == ["01234", "99999"]
    assert frame.id.tolist() == ["12345678901234567890", "1"]
    assert frame["mixed"].tolist() == ["1", "x"]
    assert frame.flag.tolist() == ["true", "false"]


def test_between_semicolons_a_comma_is_decimal():
    assert read("a;b\n1,5;x\n").a.tolist() == [1.5]
    assert read("a;b\n1,5;x\n2.5;x\n").a.tolist() == [1.5, 2.5], "each is clear by itself"


def in_a_column(cells, separator):
    """A file of that separator with the cells as its column a."""
    quoted = [f'"{cell}"' if separator in cell else cell for cell in cells]
    return "".join(f"{cell}{separator}x\n" for cell in ["a", *quoted])


@pytest.mark.parametrize("separator", [",", "\t", "|"])
@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1,57", "1,60", "2,99"], [1.57, 1.6, 2.99]),  # always two digits, behind one
        (["12,5", "3", "7,8"], [12.5, 3, 7.8]),  # falls: no two codes in order
        (["1,0", "1,3"], [1, 1.3]),  # 0 is no second code
        (["1,05", "1,1"], [1.05, 1.1]),
        (["-1,5", "2,5"], [-1.5, 2.5]),
        (["1.200,50", "1,5"], [1200.5, 1.5]),
        (["0,123", "4,567"], [0.123, 4.567]),  # thousands do not begin with 0
        (["1,200", "0.5"], [1200, 0.5]),
    ],
)
def test_a_decimal_comma_is_read_between_any_separators(cells, numbers, separator):
    text = in_a_column(cells, separator)
    assert read(text).a.tolist() == numbers
    assert read(text, bf.Domain([bf.Numeric("a", -2000, 2000, 0.001)])).a.tolist() == numbers


@pytest.mark.parametrize("separator", [",", "\t", "|"])
@pytest.mark.parametrize(
    "cells",
    [
        ["1,3", "2,4", "1"],  # or the answers 1 and 3
        ["1,12", "2,3"],
        ["10,12", "11,13"],
        ["1,234", "2,500", "900"],  # or thousands
        ["1,5", "2.5"],
        ["1,5,7", "2,5"],
        ["1,57", "?"],
        ["01,5", "02,5", "x"],
    ],
)
def test_in_doubt_a_comma_stays_text(cells, separator):
    assert read(in_a_column(cells, separator)).a.tolist() == cells


def test_a_domain_that_wants_numbers_rules_out_codes():
    assert read(in_a_column(["1,3", "2,5"], "\t"), bf.Domain([bf.Numeric("a", 0, 9, 0.1)])).a.tolist() == [1.3, 2.5]
    assert read(in_a_column(["1,3", "2,5"], "\t"), bf.Domain([bf.Categorical("a", [1.3, 2.5])])).a.tolist() == [
        1.3,
        2.5,
    ]
    assert read(in_a_column(["1,3", "2,5"], ","), bf.Domain([bf.Categorical("a", ["1,3", "2,5"])])).a[0] == "1,3"
    frame = read(in_a_column(["1,234", "900"], ","), bf.Domain([bf.Numeric("a", 0, 9000)]))
    with pytest.raises(DataError, match="'1,234' is not a finite number"):
        bf.Domain([bf.Numeric("a", 0, 9000)]).encode(frame)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ('a,b\n"1,234",0.5\n900,1\n', [1234, 900]),
        ('a,b\n"1,234","0,55"\n900,"0,05"\n', [1.234, 900]),
        ("a;b\n1.234;0,5\n900;1\n", [1234, 900]),
        ("a;b\n1.234;0.5\n900;1\n", [1.234, 900]),
        ("a;b;c\n1.234;0.5;0,5\n900;1;1\n", ["1.234", "900"]),
        ("a;b\n1.234;x\n900;y\n", ["1.234", "900"]),
        ("a,b\n1.234,x\n900,y\n", [1.234, 900]),
        ("a\tb\n1.234\tx\n900\ty\n", [1.234, 900]),
        ("a\tb\n1.234\t0,5\n900\t1,0\n", [1234, 900]),
    ],
)
def test_what_can_be_thousands_goes_by_the_other_columns(text, numbers):
    assert read(text).a.tolist() == numbers
    if isinstance(numbers[0], float | int):
        assert read(text, bf.Domain([bf.Numeric("a", 0, 2000, 0.001)])).a.tolist() == numbers


def test_a_number_beyond_a_float_stays_text():
    assert read("a\n1e400\n1\n").a.tolist() == ["1e400", "1"]
    assert read("a\n1e400\n1\n", bf.Domain([bf.Numeric("a", 0, 9)])).a.tolist() == ["1e400", 1]


def test_digits_of_other_scripts_are_text():
    assert read("a\n٣\n٤\n").a.tolist() == ["٣", "٤"]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("a;b\n1.200,50;x\n3,5;x\n-12.000;x\n", [1200.5, 3.5, -12000.0]),
        ("a;b\n1.234.567;x\n12;x\n", [1234567, 12]),
        ('a,b\n"1,200.50",x\n7,x\n', [1200.5, 7]),
    ],
)
def test_thousands_are_read_where_one_cell_leaves_no_doubt(text, numbers):
    assert read(text).a.tolist() == numbers
    wide = bf.Domain([bf.Numeric("a", -20_000, 2_000_000, 0.5)])
    assert read(text, wide).a.tolist() == numbers


@pytest.mark.parametrize("text", ["a;b\n1.200,50;x\n1.5;x\n", "a;b\n1.200,50;x\nten;x\n"])
def test_thousands_beside_what_they_cannot_be_stay_text(text):
    assert read(text).a.tolist()[0] == "1.200,50"


def test_labels_become_the_domains_own_values():
    domain = bf.Domain([bf.Categorical("grade", [1, 2, 3]), bf.Categorical("smokes", [True, False])])
    frame = read("grade,smokes\n1,true\n2.0,FALSE\n 3,True\n", domain)
    assert frame.grade.tolist() == [1, 2, 3]
    assert frame.smokes.tolist() == [True, False, True]


def test_the_separator_is_the_one_that_finds_the_domain():
    frame = read("age;a,b,c,d\n41;1,2,3,4\n", bf.Domain([bf.Numeric("age", 17, 90)]))
    assert frame.age.tolist() == [41]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ('"first\nname";b;c\nx;1;2\n', {"first\nname": ["x"], "b": [1], "c": [2]}),
        ('"a, long\r\nname";b\r\nx;1,5\r\n', {"a, long\r\nname": ["x"], "b": [1.5]}),
        ('\n \n"a;b\n;;c"\td\n1\t2\n', {"a;b\n;;c": [1], "d": [2]}),
        ("sep=;\na;b\n1,5;2\n", {"a": [1.5], "b": [2]}),
        ('"sep=|"\r\na,b|c\r\n1|2\r\n', {"a,b": [1], "c": [2]}),
        ("\ufeffSEP=\t\na\tb\n1\t2\n", {"a": [1], "b": [2]}),
        ("sep=^\na^b\n1^2\n", {"a": [1], "b": [2]}),
        ("sep=;x\n1;2\n", {"sep=": [1], "x": [2]}),
    ],
)
def test_the_separator_is_that_of_the_first_record_or_the_one_a_first_line_says(text, columns):
    assert read(text).to_dict("list") == columns


def test_the_line_that_says_the_separator_counts_as_a_line():
    with pytest.raises(DataError, match="line 4 has 3 cells, the header 2"):
        read("sep=;\na;b\n1;2\n1;2;3\n")
    with pytest.raises(DataError, match="empty"):
        read("sep=;\n")


ADULT = "age, job, income\n39, State-gov, <=50K\n38,Private\t, <=50K \n51, Private, >50K\n52, ,>50K\n"


def test_blanks_around_cells_make_no_other_labels():
    frame = read(ADULT)
    assert frame.columns.str.strip().tolist() == ["age", "job", "income"]
    assert frame.iloc[:, 1].tolist()[:3] == ["State-gov", "Private", "Private"]
    assert pd.isna(frame.iloc[3, 1])
    assert frame.iloc[:, 2].tolist() == ["<=50K", "<=50K", ">50K", ">50K"]
    quoted = read('a,b\n" x",1\nx,2\n y, "p, q"\n')
    assert quoted.a.tolist() == ["x", "x", "y"]
    assert quoted.b.tolist() == ["1", "2", "p, q"]


def test_with_a_domain_blanks_count_only_where_it_tells_values_apart_by_them():
    jobs = ["State-gov", "Private"]
    assert read(ADULT, bf.Domain([bf.Categorical("job", jobs)])).job.tolist()[:3] == ["State-gov", "Private", "Private"]
    old = bf.Domain([bf.Categorical("job", [" State-gov", " Private"])])
    assert read(ADULT, old).job.tolist()[:3] == [" State-gov", " Private", " Private"]
    both = bf.Domain([bf.Categorical("job", ["State-gov", " Private", "Private\t"])])
    assert read(ADULT, both).job.tolist()[:3] == ["State-gov", "Private\t", " Private"]


def test_labels_with_blanks_around_them_are_written_in_quotes():
    frame = pd.DataFrame({"a": [" x", 'say, "hi"']})
    assert bf.tables.csv_text(frame).splitlines()[1] == '" x"'
    domain = bf.Domain([bf.Categorical("a", [" x", "x", 'say, "hi"'])])
    assert read(bf.tables.csv_text(frame), domain).a.tolist() == frame.a.tolist()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("age,job,age\n1,2,3\n", r"'age' twice \(columns 1 and 3\)"),
        ("a,b\n1,2\n3,4,5\n", "line 3 has 3 cells, the header 2"),
        ('a,b\n1,"secret\n', "quotation mark"),
        ("", "empty"),
        ("\n \n", "empty"),
        (b"a,b\n1,\xe9\n", "line 2 is not UTF-8"),
        (b"PK\x03\x04rest", "spreadsheet"),
        (b"a,b\n1,\x00\n", "NUL"),
        (b"PAR1 nonsense", "Parquet"),
        (b"\x1f\x8bnonsense", "gzip"),
        (gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-9], "cut short"),
    ],
)
def test_a_bad_file_says_why_and_quotes_no_cell(text, says):
    with pytest.raises(DataError, match=says) as caught:
        read(text)
    assert "secret" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(DataError, match=r"none\.csv: cannot be read: No such file"):
        bf.read_table(tmp_path / "none.csv")
    with pytest.raises(DataError, match="cannot be read"):
        bf.read_table(tmp_path)


def test_what_does_not_fit_is_left_for_encode_to_report():
    frame = read("age,job,pay\nold,NA,1\n", DOMAIN)
    with pytest.raises(DataError, match=r"row 0, column 'age': 'old' is not a finite number"):
        DOMAIN.encode(frame)
    with pytest.raises(DataError, match=r"row 0, column 'pay': the cell is empty"):
        DOMAIN.encode(read("age,job,pay\n41,NA\n", DOMAIN))


def test_a_count_column_is_numbers():
    records = bf.Records.of_frame(DOMAIN, read("age,job,pay,count\n41,NA,1,3\n41,NA,1,2\n", DOMAIN))
    assert records.counts.tolist() == [5]


ODD = [
    "",
    " ",
    "NA",
    "nan",
    "1",
    "1.0",
    "01",
    '"',
    ",",
    ";",
    "\n",
    "\r",
    "\r\n",
    "\t",
    "true",
    "\ufeff",
    " a",
    "a",
    ', "',
    "1,5",
    "1.5",
    "1,234",
]
some_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=6)
labels = st.lists(some_text | st.sampled_from(ODD), min_size=1, max_size=6, unique=True)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), labels)
def test_what_is_written_reads_back(tmp_path, data, values):
    """Any table of a domain, to any format and back, is the same codes."""
    domain = bf.Domain([bf.Categorical("label, odd", values), bf.Numeric("x", -1, 1, 0.1)])
    shape = [st.integers(0, size - 1) for size in domain.shape]
    codes = np.array(data.draw(st.lists(st.tuples(*shape), min_size=1, max_size=8)))
    path = tmp_path / data.draw(st.sampled_from(["t.csv", "t.csv.gz", "t.parquet"]))
    bf.write_table(domain.decode(codes), path)
    assert (domain.encode(bf.read_table(path, domain)) == codes).all()


# ------------------------------------------------------------------ writing whole or not at all


@pytest.mark.parametrize("failure", [KeyboardInterrupt, RuntimeError, SystemExit])
def test_a_failure_leaves_the_old_file_and_no_other(tmp_path, failure):
    path = tmp_path / "out.csv"
    path.write_text("old")

    def half_written():
        with atomic(path) as file:
            file.write(b"half of the new")
            raise failure

    with pytest.raises(failure):
        half_written()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    with atomic(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["out.csv"]


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links are POSIX's")
def test_modes_and_links_stay(tmp_path):
    (tmp_path / "out.csv").write_text("old")
    (tmp_path / "out.csv").chmod(0o640)
    (tmp_path / "link.csv").symlink_to("out.csv")
    with atomic(tmp_path / "link.csv") as file:
        file.write(b"new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "out.csv").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "out.csv").stat().st_mode) == 0o640
    mask = os.umask(0o022)
    os.umask(mask)
    with atomic(tmp_path / "fresh.csv") as file:
        file.write(b"new")
    assert stat.S_IMODE((tmp_path / "fresh.csv").stat().st_mode) == 0o666 & ~mask


def test_places_that_cannot_be_written_are_told_beforehand(tmp_path):
    with pytest.raises(DataError, match="is a directory"):
        check_writable(tmp_path)
    with pytest.raises(DataError, match="there is no directory"):
        bf.write_table(pd.DataFrame(EXPECTED), tmp_path / "no" / "out.csv")


def test_a_spreadsheet_name_is_not_given_to_text(tmp_path):
    with pytest.raises(DataError, match=r"end the name in \.csv"):
        bf.write_table(pd.DataFrame({"x": [1]}), tmp_path / "o.xlsx")
    assert not list(tmp_path.iterdir())
