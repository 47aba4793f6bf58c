import { Counter } from 'prom-client';
import { metrics } from '../lib/metrics.ts';

const registers = [metrics];

export const nodeMetrics = {
  lostNodes: new Counter({
    name: 'trunkline_nodes_lost_total',
    help: 'Nodes that this one gave up, because they gave no sign of life.',
    registers,
  }),
  givenUp: new Counter({
    name: 'trunkline_node_given_up_total',
    help: 'Times that the other nodes gave this one up.',
    registers,
  }),
  missedBeats: new Counter({
    name: 'trunkline_node_missed_beats_total',
    help: 'Signs of life that the database did not take.',
    registers,
  }),
};
