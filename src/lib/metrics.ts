import { Registry } from 'prom-client';

/** The one registry of the process. Each part makes its own metrics in it; their names begin with `trunkline_`. */
export const metrics = new Registry();
