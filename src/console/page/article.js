import { get } from './api.js';
import { h } from './dom.js';
import { messageOf } from './failures.js';

/** The path of articles that this program has itself. A token of the panel opens them, and a new tab would have none. */
const ownArticles = /^\/api\/knowledge\/articles\/([0-9a-f]{1,40})$/;

/**
 * A link of a hint. An article of our own opens in place.
 * @param {{ title: string, url: string }} link
 */
export function articleLink({ title, url }) {
  const id = ownArticles.exec(url)?.[1];
  if (id !== undefined) return ownArticle(id, title);
  // The texts of articles come from files: an address is a link only if a browser opens a page for it.
  const isPage = /^https?:\/\//i.test(url);
  return h(
    'p',
    {},
    isPage ? h('a', { href: url, target: '_blank', rel: 'noopener noreferrer' }, title) : title,
  );
}

/**
 * @param {string} id
 * @param {string} title
 */
function ownArticle(id, title) {
  const text = h('div', { class: 'article-text' });
  let isRead = false;
  const details = h('details', {}, h('summary', {}, title), text);
  details.addEventListener('toggle', () => {
    if (!details.open || isRead) return;
    isRead = true;
    void fill(id, text).then((isFilled) => (isRead = isFilled));
  });
  return details;
}

/**
 * @param {string} id
 * @param {HTMLElement} text
 */
async function fill(id, text) {
  try {
    const { passages } = await get(`/api/knowledge/articles/${id}`);
    text.replaceChildren(
      ...passages.flatMap(({ heading, text: words }) => [
        ...(heading === '' ? [] : [h('h4', {}, heading)]),
        h('p', {}, words),
      ]),
    );
    return true;
  } catch (error) {
    text.replaceChildren(h('p', { class: 'error' }, `Could not read the article: ${messageOf(error)}`)); // prettier-ignore
    return false;
  }
}
