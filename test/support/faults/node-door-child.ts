import { createLog } from '../../../src/lib/log.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { NodesConfig } from '../../../src/nodes/config.ts';
import { NodeLink } from '../../../src/nodes/link.ts';

/* The nodes' port alone in its own process, so that the cost of strangers can be measured there. */
const [url = '', key = ''] = process.argv.slice(2);
const config = { ...NodesConfig.parse({}), url, key };
await NodeLink.open({ config, clock: systemClock, log: createLog({ level: 'silent' }) });
process.stdout.write('ready\n');
