// On paper there is no scrolling: tables show their first lines.
import { useEffect, useState } from "preact/hooks";

export function usePrinting(): boolean {
  const [isPrinting, setPrinting] = useState(false);
  useEffect(() => {
    const query = matchMedia("print");
    const change = () => setPrinting(query.matches);
    const before = () => setPrinting(true);
    const after = () => setPrinting(false);
    query.addEventListener("change", change);
    addEventListener("beforeprint", before);
    addEventListener("afterprint", after);
    return () => {
      query.removeEventListener("change", change);
      removeEventListener("beforeprint", before);
      removeEventListener("afterprint", after);
    };
  }, []);
  return isPrinting;
}
