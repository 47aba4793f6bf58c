import type { JsonObject } from '../protocol/openapi/components.ts';

/**
 * An OpenAPI 3.1 document as one HTML page, made on the server: no script, nothing fetched from elsewhere. It knows the
 * format, not what is described with it. Titles and examples come from our own code and are escaped all the same.
 */
export function docsPage(document: JsonObject, links: { style: string; source: string }): string {
  const info = fields(document['info']);
  const operations = operationsOf(document);
  const sections = list(document['tags']).map(fields);
  const nav = sections
    .map((tag) => `<li><a href="#${slug(tag['name'])}">${text(tag['name'])}</a></li>`)
    .join('');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(info['title'])} API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${text(links.style)}">
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<nav aria-label="Sections"><p class="brand"><a href="/">${text(info['title'])}</a></p>
<ul>${nav}<li><a href="#schemas">Schemas</a></li></ul>
<p><a href="${text(links.source)}">OpenAPI 3.1 document</a></p></nav>
<main id="content" tabindex="-1">
<h1>${text(info['title'])} API <small>${text(info['version'])}</small></h1>
<p>${prose(info['description'])}</p>
${sections.map((tag) => section(tag, operations)).join('\n')}
<section aria-labelledby="schemas"><h2 id="schemas">Schemas</h2>
${Object.entries(fields(fields(document['components'])['schemas']))
  .map(([name, schema]) => schemaEntry(name, fields(schema)))
  .join('\n')}
</section>
</main>
</body>
</html>
`;
}

type Operation = { tag: unknown; method: string; path: string; details: JsonObject };

function operationsOf(document: JsonObject): Operation[] {
  const paths = Object.entries(fields(document['paths']));
  const hooks = Object.entries(fields(document['webhooks']));
  const of = (path: string, methods: unknown, hook: boolean): Operation[] =>
    Object.entries(fields(methods)).map(([method, value]) => {
      const details = fields(value);
      return { tag: list(details['tags'])[0], method: hook ? 'webhook' : method, path, details };
    });
  return [
    ...paths.flatMap(([path, methods]) => of(path, methods, false)),
    ...hooks.flatMap(([name, methods]) => of(name, methods, true)),
  ];
}

function section(tag: JsonObject, operations: Operation[]): string {
  const id = slug(tag['name']);
  const own = operations.filter((operation) => operation.tag === tag['name']);
  return `<section aria-labelledby="${id}"><h2 id="${id}">${text(tag['name'])}</h2>
<p>${prose(tag['description'])}</p>
${own.map(operationEntry).join('\n')}</section>`;
}

function operationEntry({ method, path, details }: Operation): string {
  const body = fields(details['requestBody']);
  const key = list(details['security']).length > 0 ? '<p class="key">Needs a key.</p>' : '';
  const deprecated = details['deprecated'] === true ? ' <em class="old">deprecated</em>' : '';
  return `<details class="operation"><summary><code class="method ${text(method)}">${text(method.toUpperCase())}</code>
<code class="path">${text(path)}</code> <span>${text(details['summary'])}${deprecated}</span></summary>
<div class="inside">${details['description'] === undefined ? '' : `<p>${prose(details['description'])}</p>`}${key}
${parameters(list(details['parameters']).map(fields))}
${'content' in body ? `<h4>Body</h4>${content(fields(body['content']))}` : ''}
${answers(fields(details['responses']))}</div></details>`;
}

function parameters(rows: JsonObject[]): string {
  if (rows.length === 0) return '';
  const cells = rows.map(
    (row) =>
      `<tr><th scope="row"><code>${text(row['name'])}</code></th><td>${text(row['in'])}</td>` +
      `<td>${type(fields(row['schema']))}</td><td>${prose(row['description'] ?? '')}</td></tr>`,
  );
  return table('Parameters', ['Name', 'In', 'Type', 'Meaning'], cells);
}

function answers(responses: JsonObject): string {
  const cells = Object.entries(responses).map(([status, value]) => {
    const response = fields(value);
    const types = Object.entries(fields(response['content'])).map(
      ([mime, media]) => `${type(fields(fields(media)['schema']))} <small>${text(mime)}</small>`,
    );
    return `<tr><th scope="row">${text(status)}</th><td>${prose(response['description'])}</td><td>${types.join('<br>')}</td></tr>`;
  });
  const examples = Object.values(responses).map((value) =>
    example(Object.values(fields(fields(value)['content']))[0]),
  );
  return table('Answers', ['Status', 'When', 'Body'], cells) + examples.join('');
}

function content(media: JsonObject): string {
  return Object.entries(media)
    .map(
      ([mime, value], at) =>
        `<p>${type(fields(fields(value)['schema']))} <small>${text(mime)}</small></p>${at === 0 ? example(value) : ''}`,
    )
    .join('');
}

function example(media: unknown): string {
  const value = fields(media)['example'];
  if (value === undefined) return '';
  return `<pre tabindex="0" role="region" aria-label="Example"><code>${text(JSON.stringify(value, null, 2))}</code></pre>`;
}

function schemaEntry(name: string, schema: JsonObject): string {
  const required = new Set(list(schema['required']));
  const rows = Object.entries(fields(schema['properties'])).map(([field, value]) => {
    const of = fields(value);
    const standing = 'default' in of ? `default ${code(of['default'])}` : '';
    return (
      `<tr><th scope="row"><code>${text(field)}</code>${required.has(field) ? ' <em>required</em>' : ''}</th>` +
      `<td>${type(of)}</td><td>${[bounds(of), standing, prose(of['description'] ?? '')].filter(Boolean).join(' · ')}</td></tr>`
    );
  });
  const inside =
    rows.length > 0
      ? table(`Fields of ${name}`, ['Field', 'Type', 'Meaning'], rows)
      : `<p>${type(schema)}</p>`;
  return `<details class="schema"><summary><code>${text(name)}</code></summary>
<div class="inside" id="schema-${text(name)}">${schema['description'] === undefined ? '' : `<p>${prose(schema['description'])}</p>`}${inside}</div></details>`;
}

/** A schema's type in a few words, with links to the schemas that have a name. */
function type(schema: JsonObject): string {
  const reference = schema['$ref'];
  if (typeof reference === 'string') {
    const name = reference.split('/').at(-1) ?? '';
    return `<a href="#schema-${text(name)}">${text(name)}</a>`;
  }
  const choices = [...list(schema['anyOf']), ...list(schema['oneOf'])].map(fields);
  if (choices.length > 0) return choices.map(type).join(' or ');
  if ('const' in schema) return code(schema['const']);
  const values = list(schema['enum']);
  if (values.length > 0) return values.map(code).join(', ');
  const name = schema['type'];
  if (Array.isArray(name)) return name.map((one) => type({ ...schema, type: one })).join(' or ');
  if (name === 'array') return arrayType(schema);
  if (name === 'object' && 'additionalProperties' in schema && !('properties' in schema))
    return `map of ${type(fields(schema['additionalProperties']))}`;
  if (name === 'object' && 'properties' in schema) return inlineObject(schema);
  const format =
    typeof schema['format'] === 'string' ? ` <small>${text(schema['format'])}</small>` : '';
  return `${text(name ?? 'anything')}${format}`;
}

function arrayType(schema: JsonObject): string {
  const places = list(schema['prefixItems']).map(fields);
  if (places.length > 0) return `[${places.map(type).join(', ')}]`;
  return `list of ${type(fields(schema['items']))}`;
}

function inlineObject(schema: JsonObject): string {
  const inner = Object.entries(fields(schema['properties'])).map(
    ([field, value]) => `<code>${text(field)}</code>: ${type(fields(value))}`,
  );
  return `{ ${inner.join(', ')} }`;
}

function bounds(schema: JsonObject): string {
  const { minimum, maximum, minItems } = schema;
  if (minimum !== undefined && maximum !== undefined) return `${text(minimum)} to ${text(maximum)}`;
  if (minimum !== undefined) return `at least ${text(minimum)}`;
  if (maximum !== undefined) return `at most ${text(maximum)}`;
  return minItems === undefined ? '' : `at least ${text(minItems)} element`;
}

function table(caption: string, heads: string[], rows: string[]): string {
  const head = heads.map((name) => `<th scope="col">${name}</th>`).join('');
  return `<div class="wide" tabindex="0" role="region" aria-label="${text(caption)}"><table><caption>${text(caption)}</caption><thead><tr>${head}</tr></thead><tbody>${rows.join('')}</tbody></table></div>`;
}

function code(value: unknown): string {
  return `<code>${text(JSON.stringify(value))}</code>`;
}

/** Text in which backticks mark code. */
function prose(value: unknown): string {
  return text(value).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

function text(value: unknown): string {
  const plain =
    typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
  return plain
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

function slug(value: unknown): string {
  return String(value).toLowerCase().replaceAll(/\W+/g, '-');
}

function fields(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : {};
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
