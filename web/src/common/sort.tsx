// How a table is sorted: by the key of a column, or "-key" for the other direction.

export function isSortedBy(sort: string, key: string): boolean {
  return sort === key || sort === "-" + key;
}

/** What a click on the head of a column chooses: that column, or its other direction. */
export function sortNext(sort: string, key: string): string {
  return sort === key ? "-" + key : key;
}

/** For aria-sort. The first direction of a column goes down from the largest, that of names up from A. */
export function sortDirection(sort: string, key: string, isText: boolean): "ascending" | "descending" | "none" {
  if (!isSortedBy(sort, key)) return "none";
  return (sort === key) === isText ? "ascending" : "descending";
}

/** The button in the head of a column. */
export function SortButton({ title, column, sort, isText = false, onSort }: {
  title: string; column: string; sort: string; isText?: boolean; onSort(sort: string): void;
}) {
  const direction = sortDirection(sort, column, isText);
  return (
    <button class="sort" title={`Sort by ${title === "%" ? "share" : title.toLowerCase()}`} onClick={() => onSort(sortNext(sort, column))}>
      {title}{direction === "none" ? "" : direction === "ascending" ? " ▴" : " ▾"}
    </button>
  );
}

/** Texts in the order of their characters, without regard to case. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
