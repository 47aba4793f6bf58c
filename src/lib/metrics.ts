import { Registry } from 'prom-client';

/** One registry of the process; parts make their own metrics in it, names begin with `trunkline_`. */
export const metrics = new Registry();
