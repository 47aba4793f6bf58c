/** The way to the provider begins here. */
export const providerPath = '/api/session/provider';
