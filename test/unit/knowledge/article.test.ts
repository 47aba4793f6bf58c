import { describe, expect, test } from 'vitest';
import { articleId, articlesFrom } from '../../../src/knowledge/article.ts';

const only = (name: string, text: string) => {
  const [article, ...others] = articlesFrom(name, text);
  if (article === undefined || others.length > 0) throw new Error('one article was expected');
  return article;
};

describe('Markdown', () => {
  test('an article has its title, its passages with their headings, and what its head says', () => {
    const long = 'The bag comes by post and is free of charge. '.repeat(6).trim();
    const article = only(
      'billing/returns.md',
      `---\ntitle: Sending things back\nurl: https://help.example.com/returns\nsay: We send you a bag.\nasked: [how do i return it]\nlayout: wide\n---\n# Returns\n\n${long}\n\n## In a shop\n\n${long}\n\n### On Sundays\n\n![a shop](shop.png) See [the **list**](https://x.example/list) of shops.\n`,
    );
    expect(article).toEqual({
      name: 'billing/returns.md',
      title: 'Sending things back',
      url: 'https://help.example.com/returns',
      say: 'We send you a bag.',
      asked: ['how do i return it'],
      passages: [
        { heading: 'Returns', text: long },
        {
          heading: 'Returns › In a shop',
          text: `${long} On Sundays: See the list of shops.`,
        },
      ],
    });
  });

  test('a long section is cut into passages that can be read at a glance, at the end of a sentence', () => {
    const { passages } = only('long.md', `# Long\n${'One two three four five six seven. '.repeat(100)}`); // prettier-ignore
    expect(passages.length).toBeGreaterThan(3);
    for (const { text } of passages) {
      expect(text.split(' ').length).toBeLessThanOrEqual(180);
      expect(text.endsWith('.')).toBe(true);
    }
  });

  test('a file without a heading has its name as title', () => {
    expect(only('faq/opening_hours.txt', 'We open at nine.').title).toBe('Opening hours');
  });

  test('an address that is no web address, lines that are no YAML and an empty file are told', () => {
    expect(() => only('a.md', '---\nurl: javascript:alert(1)\n---\ntext')).toThrow('begins with https://'); // prettier-ignore
    expect(() => only('a.md', '---\n{ [\n---\ntext')).toThrow('are no YAML');
    expect(() => only('a.md', '# Title alone')).toThrow('it has no text');
    expect(() => only('a.md', 'a\u0000b')).toThrow('NUL');
  });

  test('an article keeps its id when it is edited, and every name has another', () => {
    expect(articleId('a.md')).toMatch(/^[0-9a-f]{16}$/);
    expect(articleId('../a.md')).not.toBe(articleId('a.md'));
  });
});

describe('HTML', () => {
  test('scripts, frames, styles, pictures and attributes are left out, and headings stay', () => {
    const page = `<!doctype html><html><head><title>Wi&#45;Fi &amp; co</title><style>p{}</style></head><body onload="steal()">
      <h1>Wi-Fi</h1><p>The <b>password</b> is<br>on the <a href="javascript:alert(1)" title="a > b">card</a>.</p>
      <script>document.write('<p>no word</p>')</script><iframe src="https://evil.example">frame</iframe>
      <img src="data:image/png;base64,AAAA" alt="x"><svg><text>drawn</text></svg><!-- hidden <p>words</p> -->
      <h2>Change it</h2><ul><li>Open the app.</li><li>5 &lt; 6 &hellip;</li></ul></body></html>`;
    const { title, passages } = only('wifi.html', page);
    expect(title).toBe('Wi-Fi & co');
    expect(passages).toEqual([
      { heading: 'Wi-Fi', text: 'The password is on the card. Change it: Open the app. 5 < 6 …' },
    ]);
  });

  test.each([
    ['a script without an end', `<p>Words.</p><script>${'x'.repeat(100)}`],
    ['a comment without an end', '<p>Words.</p><!-- never'],
    ['a tag without an end', '<p>Words.</p><a href="never'],
  ])('%s takes the rest of the page and no time', (_, page) => {
    expect(only('page.html', page).passages).toEqual([{ heading: '', text: 'Words.' }]);
  });
});

test.each([
  ['page.html', '<'],
  ['page.html', '<!--'],
  ['page.html', '&#'],
  ['page.html', '<a "'],
  ['page.md', '![a]('],
  ['page.md', '[a]('],
  ['page.md', '<!--'],
  ['page.md', '<a '],
  ['page.md', '# '],
  ['table.csv', ',"'],
])('%s full of "%s" costs no noticeable time', (name, piece) => {
  const text = `question,answer\n${piece.repeat(200_000 / piece.length)}`;
  const beganMs = process.cpuUsage().user;
  try {
    articlesFrom(name, text);
  } catch {
    // Refused with a reason, which is as good.
  }
  expect((process.cpuUsage().user - beganMs) / 1_000).toBeLessThan(900);
});

describe('CSV', () => {
  test('each row is an article with its question; formulas are text like any other', () => {
    const articles = articlesFrom(
      'faq.csv',
      '\uFEFFanswer;tags;question;url\r\n"At ""nine"".\nOn Sundays never.";x;When do you open?;https://h.example/open\r\n"=HYPERLINK(""http://evil.example"")";;Why?;\r\n;;Empty?;\r\n',
    );
    expect(
      articles.map(({ name, title, url, asked, passages }) => [name, title, url, asked, passages]),
    ).toEqual([
      // prettier-ignore
      ['faq.csv#2', 'When do you open?', 'https://h.example/open', ['When do you open?'], [{ heading: '', text: 'At "nine". On Sundays never.' }]], // prettier-ignore
      ['faq.csv#4', 'Why?', undefined, ['Why?'], [{ heading: '', text: '=HYPERLINK("http://evil.example")' }]], // prettier-ignore
    ]);
  });

  test('a table without our columns, an open quote and an address that is none are told with their line', () => {
    expect(() => articlesFrom('a.csv', 'name,value\na,b')).toThrow('the columns question and answer'); // prettier-ignore
    expect(() => articlesFrom('a.csv', 'question,answer\na,"b')).toThrow('opens in line 2');
    expect(() => articlesFrom('a.csv', 'question,answer,url\na,b,file:///etc/passwd')).toThrow('line 2'); // prettier-ignore
  });
});
