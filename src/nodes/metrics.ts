import { counter } from '../lib/metrics.ts';

export const nodeMetrics = {
  lostNodes: counter(
    'trunkline_nodes_lost_total',
    'Nodes that this one gave up, because they gave no sign of life.',
  ),
  givenUp: counter('trunkline_node_given_up_total', 'Times that the other nodes gave this one up.'),
  missedBeats: counter(
    'trunkline_node_missed_beats_total',
    'Signs of life that the database did not take.',
  ),
};
