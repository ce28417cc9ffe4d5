"""Checks values against the schemas of an OpenAPI 3.1 document: the part of JSON Schema that the document uses. A keyword
that is not known is an error, so that nothing in the document is left unchecked."""

import re

TYPES = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
NOTES = {"description", "default", "example"}


def same(one, other):
    """Are they the same in JSON, where true is not 1?"""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


class Document:
    def __init__(self, tree):
        self.tree = tree

    def resolve(self, node):
        """What a $ref names."""
        while "$ref" in node:
            target = self.tree
            for word in node["$ref"].removeprefix("#/").split("/"):
                target = target[word]
            node = target
        return node

    def operations(self):
        """(path, method, operation, parameters)"""
        for path, item in self.tree["paths"].items():
            for method, operation in item.items():
                if method != "parameters":
                    parameters = item.get("parameters", []) + operation.get("parameters", [])
                    yield path, method.upper(), operation, [self.resolve(parameter) for parameter in parameters]

    def problems(self, value, schema, where="$"):
        """All that is wrong with VALUE, as text."""
        schema = self.resolve(schema)
        found = []
        for keyword, wanted in schema.items():
            if keyword not in NOTES:
                found += getattr(self, "check_" + keyword)(value, wanted, schema, where)
        return found

    def check_type(self, value, wanted, schema, where):
        kinds = wanted if isinstance(wanted, list) else [wanted]
        return [] if any(TYPES[kind](value) for kind in kinds) else [f"{where}: {value!r} is not {kinds}"]

    def check_enum(self, value, wanted, schema, where):
        return [] if any(same(value, item) for item in wanted) else [f"{where}: {value!r} is none of {wanted}"]

    def check_const(self, value, wanted, schema, where):
        return [] if same(value, wanted) else [f"{where}: {value!r} is not {wanted!r}"]

    def check_pattern(self, value, wanted, schema, where):
        good = not isinstance(value, str) or re.search(wanted, value)
        return [] if good else [f"{where}: {value!r} does not match {wanted}"]

    def check_minimum(self, value, wanted, schema, where):
        return [f"{where}: {value} < {wanted}"] if TYPES["number"](value) and value < wanted else []

    def check_maximum(self, value, wanted, schema, where):
        return [f"{where}: {value} > {wanted}"] if TYPES["number"](value) and value > wanted else []

    def check_maxLength(self, value, wanted, schema, where):
        return [f"{where}: longer than {wanted}"] if isinstance(value, str) and len(value) > wanted else []

    def check_minItems(self, value, wanted, schema, where):
        return [f"{where}: fewer than {wanted}"] if isinstance(value, list) and len(value) < wanted else []

    def check_maxItems(self, value, wanted, schema, where):
        return [f"{where}: more than {wanted}"] if isinstance(value, list) and len(value) > wanted else []

    def check_items(self, value, wanted, schema, where):
        items = enumerate(value) if isinstance(value, list) else ()
        return [problem for i, item in items for problem in self.problems(item, wanted, f"{where}[{i}]")]

    def check_properties(self, value, wanted, schema, where):
        keys = [key for key in wanted if isinstance(value, dict) and key in value]
        return [problem for key in keys for problem in self.problems(value[key], wanted[key], f"{where}.{key}")]

    def check_required(self, value, wanted, schema, where):
        missing = [key for key in wanted if isinstance(value, dict) and key not in value]
        return [f"{where}: {key} is missing" for key in missing]

    def check_additionalProperties(self, value, wanted, schema, where):
        extra = sorted(set(value) - set(schema.get("properties", ()))) if isinstance(value, dict) else ()
        if wanted is False:
            return [f"{where}: {key} is not described" for key in extra]
        return [problem for key in extra for problem in self.problems(value[key], wanted, f"{where}.{key}")]

    def check_anyOf(self, value, wanted, schema, where):
        return [] if any(not self.problems(value, one) for one in wanted) else [f"{where}: {value!r} fits none"]

    def check_oneOf(self, value, wanted, schema, where):
        count = sum(not self.problems(value, one) for one in wanted)
        return [] if count == 1 else [f"{where}: {str(value)[:300]} fits {count} of {len(wanted)}"]
