// The short name and the namespace of a symbol by the simple rule; src/report/size_labels.h describes it, and
// src/report/size_names.c is the same in C.

const ANONYMOUS = "(anonymous namespace)::";
const PREFIX_WINDOW = 30;

/** Without parameters, template arguments and return type. */
export function stripName(stored: string): string {
  const end = stored.indexOf("(");
  if (end !== 0 && isPlain(stored, end < 0 ? stored.length : end))
    return end < 0 ? stored : stored.slice(0, end) + stored.slice(stored.lastIndexOf(")") + 1);
  const name = prefixAsSuffix(prefixAsSuffix(stored, " for "), " to ");
  let out = "";
  let depth = 0;
  let space = 0;
  for (let i = 0; i < name.length; i++) {
    const c = name[i];
    if (c === "(" && name.startsWith(ANONYMOUS, i)) {
      i += ANONYMOUS.length - 1;
      continue;
    }
    if (depth === 0 && (c === "(" || c === "<") && out.endsWith("operator")) {
      const end = endOfOperator(name, i);
      out += name.slice(i, end);
      i = end - 1;
      continue;
    }
    if (c === "(" && depth === 0 && i > 0) return out.slice(space) + name.slice(name.lastIndexOf(")") + 1);
    if (c === "[" && depth === 0 && name.startsWith("[abi:", i)) {
      const end = name.indexOf("]", i);
      if (end >= 0) {
        i = end;
        continue;
      }
    }
    if (c === ">" && depth > 0 && name[i - 1] !== "-") depth--;
    if (depth === 0) {
      out += c;
      if (c === " " && !out.includes("operator")) space = out.length;
    }
    if (c === "<") depth++;
  }
  return out;
}

/** Does a name have nothing before END that the rule looks at? Most names do not. */
function isPlain(name: string, end: number): boolean {
  for (let i = 0; i < end; i++) {
    const c = name.charCodeAt(i);
    if (c === 0x20 || c === 0x3c || c === 0x3e || c === 0x5b) return false;
    if (c === 0x6f && name.startsWith("operator", i)) return false;
  }
  return !name.startsWith(ANONYMOUS, end);
}

/** "vtable for X" is "X [vtable]". */
function prefixAsSuffix(name: string, word: string): string {
  const at = name.slice(0, PREFIX_WINDOW).indexOf(word);
  if (at < 0 || /[<({[]/.test(name.slice(0, at))) return name;
  return `${name.slice(at + word.length)} [${name.slice(0, at)}]`;
}

/** Where "()", "<", "<<", "<=" or "<=>" at AT ends. */
function endOfOperator(name: string, at: number): number {
  if (name[at] === "(") return name[at + 1] === ")" ? at + 2 : at + 1;
  let end = at + 1;
  if (name[end] === "<" || name[end] === "=") end++;
  return name[end - 1] === "=" && name[end] === ">" ? end + 1 : end;
}

/** What is before the last "::" outside of brackets. */
export function namespaceOf(shortName: string): string {
  let end = 0;
  let open = 0;
  for (let i = 0; i < shortName.length; i++) {
    const c = shortName[i];
    if (c === "<" || c === "(" || c === "{" || c === "[") open++;
    else if (open > 0 && (c === ">" || c === ")" || c === "}" || c === "]")) open--;
    else if (c === ":" && open === 0 && shortName[i + 1] === ":") end = i++;
  }
  return shortName.slice(0, end);
}
