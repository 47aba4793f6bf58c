/** The key of a lane in a map. */
export function laneName(endpoint: string, callId: string): string {
  return `${endpoint} ${callId}`;
}
