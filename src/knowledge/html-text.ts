/** Elements whose content is no text for a reader. */
const dropped = new Set(
  'script style template noscript iframe object embed svg math canvas audio video select textarea'.split(
    ' ',
  ),
);
const headings = new Set(['h1', 'h2', 'h3', 'h4', 'h5', 'h6']);
/** Elements that stand in the line. All others begin a new one. */
const inline = new Set(
  'a abbr b bdi bdo cite code data dfn em font i kbd label mark q s samp small span strong sub sup time u var wbr'.split(
    ' ',
  ),
);
const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', ndash: '–', mdash: '—', hellip: '…', euro: '€', pound: '£', lsquo: '‘', rsquo: '’', ldquo: '“', rdquo: '”', copy: '©', reg: '®', trade: '™', deg: '°', times: '×', middot: '·', bull: '•' }; // prettier-ignore

export type PlainPage = { title: string | undefined; text: string };

/**
 * The text of a page, with its headings as lines that begin with `#`, like in Markdown. Scripts, frames and pictures are
 * left out, and so is every attribute. It takes one pass, whatever the page holds.
 */
export function textOfHtml(html: string): PlainPage {
  const parts: string[] = [];
  let title: string | undefined;
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf('<', at);
    if (open < 0) {
      parts.push(plain(html.slice(at)));
      break;
    }
    parts.push(plain(html.slice(at, open)));
    if (html.startsWith('<!--', open)) {
      at = after(html, '-->', open + 4);
      continue;
    }
    const name = /^<\/?([a-zA-Z][\w-]{0,30})/.exec(html.slice(open, open + 34))?.[1]?.toLowerCase();
    if (name === undefined && html[open + 1] !== '!' && html[open + 1] !== '?') {
      parts.push('<');
      at = open + 1;
      continue;
    }
    at = afterTag(html, open);
    if (name === undefined || inline.has(name)) continue;
    const isEnd = html[open + 1] === '/';
    if (!isEnd && (dropped.has(name) || name === 'title')) {
      const end = endOf(html, name, at);
      if (name === 'title') title ??= oneLine(plain(html.slice(at, end)));
      at = end;
      continue;
    }
    parts.push(headings.has(name) && !isEnd ? `\n\n${'#'.repeat(Number(name[1]))} ` : headings.has(name) ? '\n\n' : '\n'); // prettier-ignore
  }
  const lines = parts.join('').split('\n').map(oneLine);
  return { title: title === '' ? undefined : title, text: lines.join('\n') };
}

function after(html: string, mark: string, from: number): number {
  const found = html.indexOf(mark, from);
  return found < 0 ? html.length : found + mark.length;
}

/** The place behind a tag. A `>` inside a quoted value is none. A tag without an end takes the rest. */
function afterTag(html: string, open: number): number {
  let quote = '';
  for (let at = open + 1; at < html.length; at++) {
    const letter = html[at] ?? '';
    if (quote !== '') {
      if (letter === quote) quote = '';
    } else if (letter === '"' || letter === "'") quote = letter;
    else if (letter === '>') return at + 1;
  }
  return html.length;
}

/** The place of the end tag of an element, or the end of the page. */
function endOf(html: string, name: string, from: number): number {
  const pattern = new RegExp(`</${name}`, 'gi');
  pattern.lastIndex = from;
  return pattern.exec(html)?.index ?? html.length;
}

/** Text between tags. A line break of the source is a space, as a browser shows it. */
function plain(text: string): string {
  return text
    .replace(
      /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z]{2,8}));/g,
      (whole, decimal?: string, hex?: string, name?: string) => {
        // prettier-ignore
        if (name !== undefined) return named[name] ?? whole;
        const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
        const isLetter = code >= 32 && code <= 0x10_ff_ff && (code < 0xd8_00 || code > 0xdf_ff);
        return isLetter ? String.fromCodePoint(code) : ' ';
      },
    )
    .replace(/\s+/g, ' ');
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
