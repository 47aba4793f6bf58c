/** The health of a part of the process. `down` turns readiness off; `degraded` is reported and does not. */
export type Health = { state: 'ok' | 'degraded' | 'down'; detail?: string };
