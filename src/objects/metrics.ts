import { counter, gauge } from '../lib/metrics.ts';

export const objectMetrics = {
  waiting: gauge(
    'trunkline_objects_waiting',
    'Finished files on this disk that are not in the object store yet, by kind.',
    ['kind'],
  ),
  waitingBytes: gauge('trunkline_objects_waiting_bytes', 'The bytes of those files.', ['kind']),
  copied: counter(
    'trunkline_objects_copied_total',
    'Files copied to the object store, checked there and deleted from the disk.',
    ['kind'],
  ),
  copiedBytes: counter('trunkline_objects_copied_bytes_total', 'The bytes of those files.'),
  failures: counter(
    'trunkline_objects_failures_total',
    'Requests that the object store refused, did not answer, or answered wrongly.',
    ['what'],
  ),
  erasuresWaiting: gauge(
    'trunkline_objects_erasures_waiting',
    'Objects that are still to be deleted from the object store, of all nodes.',
  ),
};
