import { createLog } from '../../../src/lib/log.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { NodesConfig } from '../../../src/nodes/config.ts';
import { NodeLink } from '../../../src/nodes/link.ts';

/* The port of the nodes alone, in a process of its own: what strangers cost it can be measured there. */
const [url = '', key = ''] = process.argv.slice(2);
const config = { ...NodesConfig.parse({}), url, key };
await NodeLink.open({ config, clock: systemClock, log: createLog({ level: 'silent' }) });
process.stdout.write('ready\n');
