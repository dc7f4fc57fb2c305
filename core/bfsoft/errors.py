"""The one family of errors that a user's input can cause; each says what is wrong, where, and how to mend it."""


class BFSoftError(ValueError):
    """Base of every error that bad input causes; the command line turns it into exit status 2 and one line."""


class DomainError(BFSoftError):
    """A domain or one of its attributes is declared wrongly."""


class DataError(BFSoftError):
    """A table does not fit its domain; the text names the row, the column and the offending cell, nothing else."""


class PolicyError(BFSoftError):
    """A policy asks for something its attribute cannot give."""


class VoteError(BFSoftError):
    """A vote is declared wrongly, or is given records or candidates of the wrong shape."""


class BudgetError(BFSoftError):
    """A privacy budget is impossible or incomplete."""


class SynthesisError(BFSoftError):
    """A synthesis is asked for with impossible settings."""


class ExperimentError(BFSoftError):
    """An experiment is asked for with impossible settings, or its results file belongs to another one."""


class ScenarioError(BFSoftError):
    """A scenario file is malformed; the text names the key and, where known, its line."""


class DomainTooLargeError(BFSoftError):
    """The product domain has too many records to enumerate; the text gives its size and the limit."""
