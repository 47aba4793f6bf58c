/** The API reference: what `/openapi.json` describes, with requests to try against this process. */
globalThis.SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  // A list of all operations is longer than anybody reads. The parts are opened one by one, or the filter finds them.
  docExpansion: 'none',
  filter: true,
  tryItOutEnabled: true,
  syntaxHighlight: false,
  defaultModelsExpandDepth: 0,
  // Nothing here is checked by somebody else's server.
  validatorUrl: null,
  // A key stays in the memory of this page and goes with it.
  persistAuthorization: false,
});
