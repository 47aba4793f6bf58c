export type CsvRow = { line: number; cells: string[] };

/** Rows of a file with commas or semicolons between its cells, quotes around cells as spreadsheets write them. */
export function csvRows(text: string, maxRows: number): CsvRow[] {
  const first = text.slice(0, text.indexOf('\n') < 0 ? undefined : text.indexOf('\n'));
  const comma = first.split(';').length > first.split(',').length ? ';' : ',';
  const rows: CsvRow[] = [];
  let cells: string[] = [];
  let cell = '';
  let isQuoted = false;
  let line = 1;
  let began = 1;
  const close = (): void => {
    cells.push(cell);
    if (cells.some((one) => one.trim() !== '')) rows.push({ line: began, cells });
    cells = [];
    cell = '';
  };
  for (let at = 0; at < text.length && rows.length < maxRows; at++) {
    const letter = text[at] ?? '';
    if (letter === '\n') line++;
    if (isQuoted) {
      if (letter !== '"') cell += letter;
      else if (text[at + 1] === '"') cell += text[++at] ?? '';
      else isQuoted = false;
    } else if (letter === '"' && cell.trim() === '') [isQuoted, cell] = [true, ''];
    else if (letter === comma) {
      cells.push(cell);
      cell = '';
    } else if (letter === '\n') {
      close();
      began = line;
    } else if (letter !== '\r') cell += letter;
  }
  if (isQuoted) throw new Error(`the quote that opens in line ${began} has no end`);
  if (rows.length < maxRows) close();
  return rows;
}
