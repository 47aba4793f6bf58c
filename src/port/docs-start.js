/** The API reference: what `/openapi.json` describes, with requests to try against this process. */
globalThis.SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'list',
  filter: true,
  tryItOutEnabled: true,
  syntaxHighlight: false,
  defaultModelsExpandDepth: 0,
  // Nothing here is checked by somebody else's server.
  validatorUrl: null,
  // A key stays in the memory of this page and goes with it.
  persistAuthorization: false,
});
