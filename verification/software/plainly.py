"""The same program with plain functions: each ``async def`` and each ``await`` of a text is taken out."""

import ast

__all__ = ["plainly"]


class _Plain(ast.NodeTransformer):
    """``but``: names of functions that stay as they are."""

    def __init__(self, but):
        self._but = but

    def visit_AsyncFunctionDef(self, node):
        if node.name in self._but:
            return node
        self.generic_visit(node)
        return ast.copy_location(ast.FunctionDef(**{name: getattr(node, name, None) for name in node._fields}), node)

    def visit_Await(self, node):
        self.generic_visit(node)
        return node.value

    def visit_AsyncWith(self, node):
        self.generic_visit(node)
        return ast.copy_location(ast.With(items=node.items, body=node.body), node)

    def visit_Call(self, node):
        """What a time-out is for is a function here: ``within(5, f())`` becomes ``within(5, f)``."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "within":
            call = node.args[1]
            assert not call.args and not call.keywords, "a call with arguments would need a lambda, evaluated later"
            node.args[1] = call.func
        return node


def plainly(text, but=("main",)):
    """``text``, a module of async functions, with plain functions in their place; those named in ``but`` stay."""
    return ast.unparse(ast.fix_missing_locations(_Plain(but).visit(ast.parse(text))))
