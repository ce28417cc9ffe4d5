"""The names of symbols in .size files, written from the description of the rules (docs/formats/size-names.md).

names(section, stored) gives (full name, template name, short name, flags). It is slow and says each rule once, to be
compared with what sextant derives.
"""

import re

ANONYMOUS, CLONE = 1, 64
BSS = {".bss", ".bss.rel.ro", ".part.end", ".relro_padding", ".tbss", "google_malloc_bss"}
NATIVE = BSS | {".data", ".data.rel.ro", ".data.rel.ro.local", ".rodata", ".tdata", ".tdata.rel.ro", ".text"}
DEX = {".dex", ".dex.method"}
PAK = {".pak.translations", ".pak.nontranslated"}
NAMESPACE = "(anonymous namespace)::"

SYMBOLS = ("->* <=> <<= >>= -> << >> <= >= == != && || ++ -- += -= *= /= %= ^= &= |= "
           "< > + - * / % ^ & | ~ ! = ,").split()  # the longest first
WORD = r"[A-Za-z0-9_]"
IS_OPERATOR = re.compile(rf"(?<!{WORD})operator(?!{WORD})", re.ASCII)
OPERATOR_WORD = re.compile(rf" (?:new|delete|co_await)(?!{WORD})(?:\[\])?", re.ASCII)
OPERATOR_LITERAL = re.compile(rf' ?"[" ]*{WORD}*', re.ASCII)
NO_FUNCTION = re.compile(rf"(?<!{WORD})(?:decltype|noexcept|typeof|__typeof__|requires|sizeof)$", re.ASCII)
QUALIFIERS = re.compile(r"(?: const| volatile| &&| &| noexcept)*")
PAIRS = {")": "(", "]": "[", "}": "{", ">": "<"}


def names(section, stored):
    if section in PAK:
        last = stored.rsplit(" ", 1)[-1]
        return stored, last, last, 0
    if stored.startswith(("**", "Overhead: ", '"')) or stored == "string literal" or section not in NATIVE | DEX:
        return stored, stored, stored, 0
    return (*java(stored), 0) if section in DEX else native(section, stored)


def java(stored):
    if "#" in stored:
        full = stored
        owner, rest = stored.split("#", 1)
        member = rest.split(":", 1)[0]
    elif " " in stored:
        parts = stored.split(" ")
        owner, member = parts[0], parts[-1]
        full = f"{owner}#{member}" + (f": {parts[1]}" if len(parts) > 2 else "")
    else:
        return stored, stored, stored.rsplit(".", 1)[-1]
    member = member.split("(", 1)[0]
    if "." in member:
        owner, member = member.rsplit(".", 1)
    return full, f"{owner}#{member}", f"{owner.rsplit('.', 1)[-1]}#{member}"


def native(section, stored):
    name, flags = without_clone(section, stored)
    for word in " for ", " to ":
        at = name.find(word, 0, 30)
        if at >= 0 and not re.search(r"[<({\[]", name[:at]):
            name = f"{name[at + len(word):]} [{name[:at]}]"
    full, template, short = signature(name)
    if NAMESPACE in short:
        flags |= ANONYMOUS
    return full.replace(NAMESPACE, ""), template.replace(NAMESPACE, ""), short.replace(NAMESPACE, ""), flags


def without_clone(section, name):
    flags = 0
    if " [clone " in name:
        name, flags = name[:name.index(" [clone ")], CLONE
    numbered = re.fullmatch(r"(.*)\.[0-9]+", name, re.DOTALL)
    if section != ".text" or not numbered or numbered[1] in ("__tcf_0", "startup"):
        return name, flags
    if re.search(r"\.(?:init|(?:func|gowrap|deferwrap)[0-9]+)(?:\.[0-9]+)+$", name):
        return name, flags
    name = numbered[1]
    kind = re.fullmatch(rf"(.*)\.({WORD}+)", name, re.DOTALL | re.ASCII)
    if kind and kind[1] != "" and kind[1].rfind(".") != 0:
        name = kind[1]
    return name, flags | CLONE


def after_operator(text, at):
    """Where the name of the operator whose keyword ends at AT ends, and whether it is a conversion."""
    word = OPERATOR_WORD.match(text, at)
    if word:
        return word.end(), False
    if text.startswith(('"', ' ""'), at):
        return OPERATOR_LITERAL.match(text, at).end(), False
    if text.startswith(" ", at):
        return at + 1, True
    end = at
    if text.startswith(("()", "[]"), at):
        end = at + 2
    else:
        fitting = [at + len(symbol) for symbol in SYMBOLS if text.startswith(symbol, at)]
        sensible = [end for end in fitting if end == len(text) or text[end] in "(< [>,)}:;@."]
        if fitting:
            end = (sensible or fitting)[0]
    return end + 1 if text.startswith(" <", end) else end, False


class Walk:
    """Tokens of a signature: (begin, end, brackets open before, brackets open after, in the type of a conversion)."""

    def __init__(self, text):
        self.text = text
        self.tokens = []
        stack, conversion, at = "", False, 0
        while at < len(text):
            end, before, byte = at + 1, stack, text[at]
            was_conversion = conversion
            if IS_OPERATOR.match(text, at):
                end, is_conversion = after_operator(text, at + 8)
                conversion = conversion or (is_conversion and not stack)
            elif byte in "([{" or (byte == "<" and not re.match(r" <[ =]", text[max(at - 1, 0):at + 2])):
                stack += byte
            elif byte == ">":
                if stack.endswith("<") and text[at - 1] != "-":
                    stack = stack[:-1]
            elif byte in PAIRS and PAIRS[byte] in stack:
                stack = stack[:stack.rindex(PAIRS[byte])]
            self.tokens.append((at, end, before, stack, was_conversion))
            if byte == "(" and not before and self.is_parameters(at, was_conversion):
                conversion = False
            at = end

    def is_parameters(self, at, conversion):
        text = self.text
        if at == 0 or text[at - 1] == " " or text.startswith("(anonymous", at):
            return False
        if conversion:
            return text.startswith("()", at) and not text.startswith("(", at + 2)
        head = text[:at]
        return not (text.startswith(".(*", at - 1) or re.search(r"'lambda[^']*'$", head) or NO_FUNCTION.search(head))

    def parameters(self):
        """Where lists of parameters outside of brackets begin and end."""
        lists, begin = [], None
        for at, end, before, after, conversion in self.tokens:
            if begin is None and not before and self.text[at] == "(" and self.is_parameters(at, conversion):
                begin = at
            if begin is not None and not after:
                lists.append((begin, end))
                begin = None
        return lists + ([(begin, len(self.text))] if begin is not None else [])


def signature(text):
    walk = Walk(text)
    lists = walk.parameters()
    full, head, tail = text, text, ""
    if lists:
        begin, end = lists[0]
        spaces = [at for at, _, before, _, conversion in walk.tokens
                  if at < begin and text[at] == " " and not before and not conversion]
        start = spaces[-1] + 1 if spaces else 0
        head = lambda_name(text[start:begin], walk, start)
        full = head + text[begin:]
        tail = text[end:] if len(lists) == 1 else QUALIFIERS.sub("", text[lists[-1][1]:], count=1)
    template = re.sub(r"\[abi:[^\]]*\]", "", head + tail)
    return full, template, without_arguments(template)


def lambda_name(head, walk, start):
    braces = [at - start for at, _, before, _, _ in walk.tokens
              if start <= at < start + len(head) and walk.text[at] == "{" and not before]
    gcc = re.search(r"#([^#]*)\}::_FUN$", head, re.DOTALL)
    if gcc and braces and head.startswith("{lambda(", braces[-1]) and gcc.start() >= braces[-1]:
        return f"{head[:braces[-1]]}$lambda#{gcc[1]}"
    return re.sub(r"\$_([0-9]+)::__invoke$", r"$lambda#\1", head)


def without_arguments(text):
    result, opened = "", None
    for at, end, before, after, _ in Walk(text).tokens:
        token = text[at:end]
        if opened is not None:
            begin, depth = opened
            if len(after) < depth:
                result += token if token in (">", "]") else text[begin:end]
                opened = None
        elif len(after) > len(before) and is_arguments(text, at):
            result += token
            opened = end, len(after)
        else:
            result += token
    return result + (text[opened[0]:] if opened else "")


def is_arguments(text, at):
    if text[at] == "<":
        return at > 0 and not text.startswith("<lambda(", at) and not text.startswith(":<impl ", at - 1)
    return at > 0 and text.startswith(("[go.shape.", "[...]"), at)
