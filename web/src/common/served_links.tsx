// Links between the pages of `sextant view`; nothing in a report, or for a single page.
import { served } from "./served";

export function ServedLinks() {
  if (!served || (served.pages.length < 2 && !served.files)) return null;
  return (
    <nav class="served-links" aria-label="Pages">
      {served.files && <a href={served.files}>All files</a>}
      {served.pages.length > 1 && served.pages.map((page) => (page.current ? <span aria-current="page">{page.title}</span> : <a href={page.url}>{page.title}</a>))}
    </nav>
  );
}
