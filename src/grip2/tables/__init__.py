"""Tables as they come: read from a file, every column given a role, turned into the numbers that samplers and statistics take."""

from grip2.tables.prepare import prepare
from grip2.tables.records import PreparedTable, Role, TableError, Variable

__all__ = ["PreparedTable", "Role", "TableError", "Variable", "prepare"]
