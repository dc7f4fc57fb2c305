"""YAML as people mean it: what is written is what is read, every key knows its line, and nothing is executed.

Reads the core of YAML 1.2, not 1.1: ``no``, ``y`` and ``on`` are text, ``1e-3`` is a number, ``1:30`` and
``2024-05-01`` are text. Refuses duplicate keys, tags and aliases. It knows nothing of scenarios.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from typing import Any

import yaml

from .errors import ScenarioError

Path = tuple[Any, ...]
_TAG = "tag:yaml.org,2002:"
_BOOL = re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$")
_NULL = re.compile(r"^(?:~|null|Null|NULL|)$")
# A leading zero keeps a number text: 007 is a label, not 7.
_INT = re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$")
_FLOAT = re.compile(
    r"^(?:[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
)
_LINE_ENDS = re.compile("[\n\r\x85\u2028\u2029]")
_SCALARS = (
    ("bool", _BOOL, list("tTfF")),
    ("int", _INT, list("-+0123456789")),
    ("float", _FLOAT, list("-+.0123456789")),
    ("null", _NULL, ["~", "n", "N", ""]),
)
_WIDE = 100


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012

    def compose_node(self, parent: Any, index: Any) -> Any:
        # An alias can blow a short file up to any size, and a scenario has no use for one.
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise ScenarioError(f"line {event.start_mark.line + 1}: anchors and aliases are not read; write it out")
        return super().compose_node(parent, index)


class _Dumper(yaml.SafeDumper):
    # A copy: text that either this reader or a YAML 1.1 reader would take for something else gets quotes.
    yaml_implicit_resolvers: dict[str, Any] = {  # noqa: RUF012
        key: list(value) for key, value in yaml.SafeDumper.yaml_implicit_resolvers.items()
    }

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    # Only double quotes keep a line end what it is; in other styles a next-line character reads as a space.
    style = '"' if _LINE_ENDS.search(text) else None
    return dumper.represent_scalar(_TAG + "str", text, style=style)


_Dumper.add_representer(str, _text)
for _name, _pattern, _first in _SCALARS:
    _Loader.add_implicit_resolver(_TAG + _name, _pattern, _first)
    _Dumper.add_implicit_resolver(_TAG + _name, _pattern, _first)


def read(text: str) -> tuple[Any, dict[Path, int]]:
    """The data in a YAML text, and for each path of keys and positions in it the line, from 1, where it stands.

    Raises ScenarioError naming the line for malformed YAML, duplicate keys, tags, anchors and aliases.
    """
    lines: dict[Path, int] = {}
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            return (None if node is None else _built(node, (), lines)), lines
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}: " if mark else ""
        raise ScenarioError(f"{where}not valid YAML: {error.problem or error.context}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ScenarioError(
            f"line {line}: the character U+{ord(text[error.position]):04X} may not stand in YAML; "
            "write it as an escape in double quotes"
        ) from None
    except RecursionError:
        raise ScenarioError("the YAML is nested too deeply") from None


def _built(node: Any, path: Path, lines: dict[Path, int]) -> Any:
    line = node.start_mark.line + 1
    lines.setdefault(path, line)
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node, line)
    if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
        return [_built(child, (*path, position), lines) for position, child in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
        mapping: dict[Any, Any] = {}
        for key_node, child in node.value:
            key_line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise ScenarioError(f"line {key_line}: a key must be text or a number")
            key = _scalar(key_node, key_line)
            if key in mapping:
                first = lines[(*path, key)]
                raise ScenarioError(f"line {key_line}: the key {key!r} is there already, on line {first}; keep one")
            lines[(*path, key)] = key_line
            mapping[key] = _built(child, (*path, key), lines)
        return mapping
    raise ScenarioError(f"line {line}: the tag {node.tag!r} is not read; write plain values")


def _scalar(node: Any, line: int) -> Any:
    kind, written = node.tag.removeprefix(_TAG), node.value
    if kind == "str":
        return written
    if kind == "null" and _NULL.match(written):
        return None
    if kind == "bool" and _BOOL.match(written):
        return written.lower() == "true"
    if kind == "int" and _INT.match(written):
        if len(written) > 400:  # Python itself refuses thousands of digits, with a text that helps nobody here
            raise ScenarioError(f"line {line}: a number of {len(written)} digits is too long")
        return int(written)
    if kind == "float" and (_FLOAT.match(written) or _INT.match(written)):
        plain = written.lower()
        return float(plain.replace(".inf", "inf").replace(".nan", "nan"))
    raise ScenarioError(f"line {line}: {written!r} with the tag {node.tag!r} is not read; write plain values")


def write(data: Mapping[str, Any]) -> str:
    """Plain data (mappings, lists, text, numbers, booleans, None) as YAML that ``read`` turns into the same data.

    Raises ScenarioError for any other kind of value.
    """
    stream = io.StringIO()
    dumper = _Dumper(stream, width=_WIDE, allow_unicode=True, sort_keys=False)
    try:
        node = dumper.represent_data(data)
        _style(node, 0)
        dumper.open()
        dumper.serialize(node)
        dumper.close()
    except yaml.representer.RepresenterError as error:
        raise ScenarioError(f"cannot be written to a file: {error.args[-1]!r}; use text or a number") from None
    finally:
        dumper.dispose()
    return stream.getvalue()


def _style(node: Any, depth: int) -> int:
    """Set small collections on one line, as a person would write them; returns the node's width on one line."""
    if isinstance(node, yaml.ScalarNode):
        return len(node.value) + 2
    children = [part for child in node.value for part in (child if isinstance(child, tuple) else (child,))]
    width = 2 + sum(_style(child, depth + 1) + 2 for child in children)
    of_scalars = isinstance(node, yaml.SequenceNode) and all(isinstance(child, yaml.ScalarNode) for child in children)
    node.flow_style = not children or (depth >= 2 and (of_scalars or width <= _WIDE)) or (depth == 1 and of_scalars)
    return width
