"""A program that is asked for, and the way to it: table, search, layouts of weights, measuring."""

from morello.request.remembering import answer as answer
from morello.request.remembering import recalled as recalled
from morello.request.request import Ranking as Ranking
from morello.request.request import Request as Request
