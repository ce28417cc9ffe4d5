// Small symbols that the page has only sums of, in pages of `sextant view` for files with millions of symbols.
import { useEffect, useState } from "preact/hooks";
import { bytes, count } from "../common/format";
import { askJson, served } from "../common/served";
import { SizeModel } from "./model";

interface Found {
  count: number;
  symbols: { name: string; size: number; address: string; section: string; path: string }[];
}

const DELAY = 200;

export function SmallFound({ model, search }: { model: SizeModel; search: string }) {
  const { small_symbols: all, small_rows: rows, small_below: below } = model.info;
  const [found, setFound] = useState<Found | string | null>(null);
  useEffect(() => {
    setFound(null);
    if (!served || !all || search === "") return;
    let isOver = false;
    const timer = setTimeout(async () => {
      try {
        const answer = await askJson<Found>("search", { text: search, below: String(below) });
        if (!isOver) setFound(answer);
      } catch (error) {
        if (!isOver) setFound(error instanceof Error ? error.message : String(error));
      }
    }, DELAY);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [search]);
  if (!all) return null;
  return (
    <div class="small-found">
      <span class="dim">{count(all)} symbols of less than {count(below!)} bytes are summed up in {count(rows!)} rows, by section and file. Searches find them too.</span>
      {typeof found === "string" && <span role="status"> {found}</span>}
      {found !== null && typeof found === "object" && (
        <details>
          <summary><output>{count(found.count)} of them found</output></summary>
          <table>
            <tbody>
              {found.symbols.map((symbol) => (
                <tr key={symbol.address + symbol.name}>
                  <td class="number">{bytes(symbol.size)}</td>
                  <td>{symbol.section}</td>
                  <td><bdi>{symbol.name.slice(0, 300)}</bdi> <bdi class="dim">{symbol.path.slice(0, 300)}</bdi></td>
                </tr>
              ))}
            </tbody>
          </table>
          {found.count > found.symbols.length && <p class="dim">The largest {count(found.symbols.length)} are listed.</p>}
        </details>
      )}
    </div>
  );
}
