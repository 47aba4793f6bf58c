/** The health of a component of the process. `down` turns readiness off; `degraded` is only reported. */
export type Health = { state: 'ok' | 'degraded' | 'down'; detail?: string };
