/**
 * A page in the style of the console that needs no script: `main` is HTML, and the title is text. `script` is the
 * address of a module that only adds comfort.
 */
export function plainPage(title: string, main: string, script?: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)} · Trunkline</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page/style.css">
<script src="/page/theme.js"></script>
${script === undefined ? '' : `<script type="module" src="${script}"></script>\n`}</head>
<body>
<header class="bar"><span class="brand">Trunkline</span></header>
<main id="main">
${main}
</main>
</body>
</html>
`;
}

/** Escapes text. Words of callers and names of carriers may look like HTML. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
