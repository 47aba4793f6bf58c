import { extname } from 'node:path';
import { z } from 'zod';
import { digestOf } from '../lib/digest.ts';
import { yaml } from '../lib/yaml.ts';
import { csvRows } from './csv.ts';
import { textOfHtml } from './html-text.ts';

/** A stretch of an article that is shown by itself. */
export type KnowledgePassage = { heading: string; text: string };

export type KnowledgeArticle = {
  /** The path in the folder. A row of a table has its line behind it. */
  name: string;
  title: string;
  url: string | undefined;
  /** A sentence to read out. */
  say: string | undefined;
  /** Questions as callers ask them. */
  asked: string[];
  passages: KnowledgePassage[];
};

/** An article has at most so many passages, and a table so many rows. */
export const maxPassagesOfArticle = 400;
export const maxRowsOfTable = 5_000;
/** A passage is read by somebody who is talking. */
const passageWords = 180;
/** A section shorter than this joins the one before. */
const shortWords = 40;
const maxTitleLetters = 200;
const maxWordLetters = 100;

const WebAddress = z
  .string()
  .max(2_000)
  .refine((text) => /^https?:\/\//i.test(text) && URL.canParse(text), 'an address begins with https:// or http://'); // prettier-ignore
const Sentence = z.string().trim().min(1).max(400);
/** The lines before an article. Other programs keep theirs there too. */
const FrontMatter = z.object({
  title: z.string().trim().min(1).max(maxTitleLetters).optional(),
  url: WebAddress.optional(),
  say: Sentence.optional(),
  asked: z.array(Sentence).max(50).default([]),
});

export const extensions = ['.md', '.markdown', '.html', '.htm', '.csv', '.txt'];

/** The articles of one file: several if it is a table. Throws what a person should mend. */
export function articlesFrom(name: string, source: string): KnowledgeArticle[] {
  if (source.includes('\u0000')) throw new Error('it holds a character that no text has (NUL)');
  const text = source.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  switch (extname(name).toLowerCase()) {
    case '.csv':
      return fromTable(name, text);
    case '.html':
    case '.htm': {
      const page = textOfHtml(text);
      return [articleOf(name, page.text, { title: page.title, asked: [] })];
    }
    default: {
      const { front, body } = withoutFrontMatter(text);
      return [articleOf(name, markdownText(body), front)];
    }
  }
}

/** The same for the same article. Its rows are found by it, whatever else the folder holds. */
export function articleDigest(article: KnowledgeArticle): string {
  return digestOf(JSON.stringify(article)).slice(0, 32);
}

/** Names an article in addresses. It stays when the article is edited. */
export function articleId(name: string): string {
  return digestOf(name).slice(0, 16);
}

function withoutFrontMatter(text: string): {
  front: z.infer<typeof FrontMatter>;
  body: string;
} {
  const found = /^---\n([\s\S]{0,20000}?)\n---(?:\n|$)/.exec(text);
  if (found === null) return { front: FrontMatter.parse({}), body: text };
  let data: unknown;
  try {
    data = yaml().parse(found[1] ?? '', { maxAliasCount: 10 }) ?? {};
  } catch {
    throw new Error('the lines between --- at its head are no YAML');
  }
  const front = FrontMatter.safeParse(data);
  if (!front.success) throw new Error(z.prettifyError(front.error));
  return { front: front.data, body: text.slice(found[0].length) };
}

/** Markdown as it is read aloud: links as their words, no pictures, no marks. */
function markdownText(text: string): string {
  return withoutComments(text)
    .replace(/^(?:```|~~~).*$/gm, '')
    .replace(/!\[[^[\]\n]{0,200}\]\([^()\n]{0,500}\)/g, '')
    .replace(/\[([^[\]\n]{1,300})\]\([^()\n]{0,500}\)/g, '$1')
    .replace(/<\/?[a-zA-Z][^<>\n]{0,500}>/g, '')
    .replace(/^[ \t]{0,20}(?:[*+-]|>)[ \t]+/gm, '')
    .replace(/(\*\*|__|`)/g, '');
}

/** One pass: a pattern would look for the end of each comment anew. */
function withoutComments(text: string): string {
  const [first = '', ...others] = text.split('<!--');
  const behind = others.map((part) => {
    const end = part.indexOf('-->');
    return end < 0 ? '' : part.slice(end + 3);
  });
  return [first, ...behind].join('');
}

type ArticleFacts = Partial<z.infer<typeof FrontMatter>>;

function articleOf(name: string, text: string, facts: ArticleFacts): KnowledgeArticle {
  const sections = sectionsOf(text);
  const title =
    facts.title ?? sections.find(({ level }) => level > 0)?.path[0] ?? titleOfName(name);
  const passages = passagesOf(
    sections.map(({ path, text: body }) => ({
      heading: path.filter((one) => one !== title).join(' › '),
      text: body,
    })),
  );
  if (passages.length === 0) throw new Error('it has no text');
  if (passages.length > maxPassagesOfArticle)
    throw new Error(`it is longer than ${maxPassagesOfArticle} passages: divide it`);
  const { url, say, asked = [] } = facts;
  return { name, title: title.slice(0, maxTitleLetters), url, say, asked, passages };
}

type Section = { level: number; path: string[]; text: string };

function sectionsOf(text: string): Section[] {
  const sections: Section[] = [{ level: 0, path: [], text: '' }];
  let path: string[] = [];
  for (const line of text.split('\n')) {
    const heading = /^(#{1,6})\s+(\S.*)$/.exec(line);
    if (heading === null) {
      const section = sections.at(-1);
      if (section) section.text += `${line}\n`;
      continue;
    }
    const [, marks = '', words = ''] = heading;
    path = [...path.slice(0, marks.length - 1), words.replace(/\s*#+$/, '').slice(0, maxTitleLetters)]; // prettier-ignore
    sections.push({ level: marks.length, path, text: '' });
  }
  return sections;
}

/** Sections in pieces of some sentences each. Short ones join the one before, with their heading. */
function passagesOf(sections: readonly KnowledgePassage[]): KnowledgePassage[] {
  const passages: (KnowledgePassage & { words: number })[] = [];
  for (const { heading, text } of sections)
    for (const piece of piecesOf(text)) {
      const words = wordsIn(piece);
      const last = passages.at(-1);
      const isShort = last !== undefined && Math.min(words, last.words) < shortWords;
      if (isShort && last.words + words <= passageWords) {
        last.text += heading === '' || heading === last.heading ? ` ${piece}` : ` ${lastOf(heading)}: ${piece}`; // prettier-ignore
        last.words += words;
      } else passages.push({ heading, text: piece, words });
    }
  return passages.map(({ heading, text }) => ({ heading, text }));
}

function lastOf(heading: string): string {
  return heading.split(' › ').at(-1) ?? heading;
}

function piecesOf(text: string): string[] {
  // A word without an end is cut: nobody reads it, and the index would keep it whole.
  const words = text
    .split(/\s+/)
    .filter((word) => word !== '')
    .map((word) => word.slice(0, maxWordLetters));
  const pieces: string[] = [];
  let piece: string[] = [];
  for (const word of words) {
    piece.push(word);
    const isEnd = /[.!?]["')\]]?$/.test(word) && piece.length >= passageWords * 0.7;
    if (!isEnd && piece.length < passageWords) continue;
    pieces.push(piece.join(' '));
    piece = [];
  }
  if (piece.length > 0) pieces.push(piece.join(' '));
  return pieces;
}

function wordsIn(text: string): number {
  return text.split(' ').length;
}

function titleOfName(name: string): string {
  const words = (name.split('/').at(-1) ?? name).replace(/\.\w+$/, '').replace(/[-_]+/g, ' ').trim(); // prettier-ignore
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A table of questions and answers. Its first row names the columns; others than ours are left alone. */
function fromTable(name: string, text: string): KnowledgeArticle[] {
  const [head, ...rows] = csvRows(text, maxRowsOfTable + 2);
  const columns = head?.cells.map((cell) => cell.trim().toLowerCase()) ?? [];
  const column = (...names: string[]): number => columns.findIndex((one) => names.includes(one));
  const [question, answer, url] = [column('question', 'title'), column('answer', 'text'), column('url')]; // prettier-ignore
  if (question < 0 || answer < 0)
    throw new Error('its first row must name the columns question and answer');
  if (rows.length > maxRowsOfTable)
    throw new Error(`it has more than ${maxRowsOfTable} rows: divide it`);
  return rows.flatMap(({ line, cells }) => {
    const [title = '', body = ''] = [cells[question], cells[answer]].map((cell = '') =>
      cell.trim(),
    );
    if (title === '' || body === '') return [];
    const address = cells[url]?.trim() ?? '';
    const facts = FrontMatter.safeParse({
      ...(address === '' ? {} : { url: address }),
      asked: [title.slice(0, 400)],
    });
    if (!facts.success) throw new Error(`line ${line}: ${z.prettifyError(facts.error)}`);
    const short = title.slice(0, maxTitleLetters);
    return [
      articleOf(`${name}#${line}`, body.replace(/^#/gm, ''), { ...facts.data, title: short }),
    ];
  });
}
