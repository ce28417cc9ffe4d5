// The short name and the namespace of a symbol by the simple rule; src/report/size_labels.h describes it.

export function stripName(name: string): string {
  if (!name.includes("<")) {
    const end = name.indexOf("(", 1);
    return end < 0 ? name : name.slice(0, end);
  }
  let result = "";
  let depth = 0;
  let from = 0;
  for (let i = 0; i < name.length; i++) {
    const c = name.charCodeAt(i);
    if (c === 0x28 && depth === 0 && i > 0) return result + name.slice(from, i);
    if (c === 0x3e && depth > 0 && --depth === 0) from = i;
    if (c === 0x3c && depth++ === 0) {
      result += name.slice(from, i + 1);
      from = name.length;
    }
  }
  return depth === 0 ? result + name.slice(from) : result;
}

export function namespaceOf(shortName: string): string {
  const end = shortName.lastIndexOf("::");
  return end < 0 ? "" : shortName.slice(0, end);
}
