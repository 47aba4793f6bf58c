/**
 * The place in a YAML text at which somebody types: the way to it, and the word so far. `[]` stands for an item of a list.
 * @typedef {{ path: string[], word: string, isValue: boolean, has: string[] }} YamlPlace
 */

/** @typedef {{ indent: number, name: string, isItem: boolean, has: string[] }} Level */
/** @typedef {{ isMap: boolean, key: string | undefined, token: string, has: string[] }} FlowFrame */

const keyPattern = /^("[^"]*"|'[^']*'|[^\s#'"{}[\],&*!|>%@`][^:#]*?)\s*:(?=\s|$)\s*/;

/**
 * Reads as much of YAML as an editor needs, from the begin of the text to the caret. Undefined where nothing can be
 * completed: in a comment, a quoted text or a block of text.
 * @param {string} text
 * @param {number} caret
 * @returns {YamlPlace | undefined}
 */
export function placeIn(text, caret) {
  const reader = new YamlReader();
  const lines = text.slice(0, caret).split('\n');
  for (const [at, line] of lines.entries()) reader.read(line, at === lines.length - 1);
  return reader.place;
}

class YamlReader {
  /** @type {Level[]} */
  #levels = [];
  /** @type {string[]} */
  #rootHas = [];
  /** @type {FlowFrame[]} */
  #flow = [];
  /** The quotation mark that is open, or ''. */
  #quote = '';
  /** The indent of a key whose text follows in lines of its own. */
  #textOf = -1;
  /** @type {YamlPlace | undefined} */
  place;

  /**
   * @param {string} line
   * @param {boolean} isLast
   */
  read(line, isLast) {
    if (this.#flow.length > 0) return this.#readFlow(line, isLast);
    let indent = line.length - line.trimStart().length;
    let rest = line.slice(indent);
    if (this.#textOf >= 0) {
      if (rest === '' || indent > this.#textOf) return;
      this.#textOf = -1;
    }
    if (rest.startsWith('#') || (rest === '' && !isLast)) return;
    for (let item = /^-(?:\s+|$)/.exec(rest); item !== null; item = /^-(?:\s+|$)/.exec(rest)) {
      this.#closeTo(indent, true);
      this.#levels.push({ indent, name: '[]', isItem: true, has: [] });
      indent += item[0].length;
      rest = rest.slice(item[0].length);
    }
    const key = keyPattern.exec(rest);
    if (key === null) {
      if (!/^[{["']/.test(rest)) this.#closeTo(indent, false);
      this.#readValue(rest, isLast, false);
      return;
    }
    this.#closeTo(indent, false);
    const name = unquoted(key[1] ?? '');
    this.#has.push(name);
    this.#levels.push({ indent, name, isItem: false, has: [] });
    const value = rest.slice(key[0].length);
    if (/^[|>]/.test(value)) this.#textOf = indent;
    else this.#readValue(value, isLast, true);
  }

  /** The keys of the map that is open. */
  get #has() {
    return this.#levels.at(-1)?.has ?? this.#rootHas;
  }

  /**
   * Closes what is as deep as this or deeper. A list may stand as deep as its own key.
   * @param {number} indent
   * @param {boolean} forItem
   */
  #closeTo(indent, forItem) {
    for (let top = this.#levels.at(-1); top !== undefined; top = this.#levels.at(-1)) {
      if (top.indent < indent || (forItem && top.indent === indent && !top.isItem)) return;
      this.#levels.pop();
    }
  }

  /**
   * @param {string} value
   * @param {boolean} isLast
   * @param {boolean} isValue
   */
  #readValue(value, isLast, isValue) {
    if (/^[{[]/.test(value)) return this.#readFlow(value, isLast);
    if (!isLast || /^["'|>&*!]/.test(value) || /(?:^|\s)#/.test(value)) return;
    const path = this.#levels.map(({ name }) => name);
    this.place = { path, word: value, isValue, has: [...this.#has] };
  }

  /**
   * @param {string} line
   * @param {boolean} isLast
   */
  #readFlow(line, isLast) {
    for (const [at, letter] of [...line].entries()) {
      const top = this.#flow.at(-1);
      if (this.#quote !== '') {
        if (letter === this.#quote) this.#quote = '';
      } else if (letter === '{' || letter === '[') {
        this.#flow.push({ isMap: letter === '{', key: undefined, token: '', has: [] });
      } else if (letter === '}' || letter === ']') {
        this.#flow.pop();
        if (this.#flow.length === 0) return;
      } else if (top !== undefined && letter === ',') {
        top.key = undefined;
        top.token = '';
      } else if (
        top?.isMap &&
        top.key === undefined &&
        letter === ':' &&
        /\s|^$/.test(line[at + 1] ?? '')
      ) {
        top.key = unquoted(top.token.trim());
        top.has.push(top.key);
        top.token = '';
      } else if (letter === '#' && /\s|^$/.test(line[at - 1] ?? '')) {
        return;
      } else if (top !== undefined) {
        if ((letter === '"' || letter === "'") && top.token.trim() === '') this.#quote = letter;
        top.token += letter;
      }
    }
    if (isLast && this.#quote === '') this.#placeInFlow();
  }

  #placeInFlow() {
    const top = this.#flow.at(-1);
    if (top === undefined || /^\s*["']/.test(top.token)) return;
    const inFlow = this.#flow.flatMap(({ isMap, key }) => (isMap ? (key ?? []) : '[]'));
    this.place = {
      path: [...this.#levels.map(({ name }) => name), ...inFlow],
      word: top.token.trimStart(),
      isValue: top.isMap ? top.key !== undefined : true,
      has: top.isMap && top.key === undefined ? [...top.has] : [],
    };
  }
}

/** @param {string} key */
function unquoted(key) {
  return /^(["']).*\1$/.test(key) ? key.slice(1, -1) : key;
}
