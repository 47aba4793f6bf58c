/** The vendor's own schema of its verbs, which comes without types. */
declare module '@jambonz/schema' {
  export function validateApp(application: unknown): { valid: boolean; errors: unknown[] };
}
