"""Reads tables: from files and data frames, with a role for every column, to the numbers that samplers and statistics take."""

from grip2.tables.prepare import examine, prepare
from grip2.tables.records import PreparedTable, Problem, Role, TableError, Variable
from grip2.tables.target import TargetValues

__all__ = ["PreparedTable", "Problem", "Role", "TableError", "TargetValues", "Variable", "examine", "prepare"]
