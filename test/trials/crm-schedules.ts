import { doubles } from '../support/crm/doubles/all.ts';
import { troubleOfSchedules } from '../support/crm/crm-schedule.ts';
import { temporaryStore } from '../support/store/store.ts';
import { presetNames } from '../../src/crm/preset.ts';

/*
 * Each preset against the double of its CRM: calls that end, are wrapped up and edited, with up to eight faults among
 * their requests. Each call must have one record with the right text and contact, and one task for each promise.
 * SCHEDULES=2000 for each preset by default; PRESETS names some of them.
 */

const schedules = Number(process.env['SCHEDULES'] ?? 2_000);
const chosen = process.env['PRESETS']?.split(',') ?? presetNames;
const seed = Number(process.env['SEED'] ?? 1);
const perStore = 200;
let isBroken = false;

for (const name of chosen) {
  const began = Date.now();
  let trouble: string | undefined;
  for (let done = 0; done < schedules && trouble === undefined; done += perStore) {
    const make = doubles[name];
    if (make === undefined) throw new Error(`there is no double of ${name}`);
    await using store = await temporaryStore();
    const rounds = Math.min(perStore, schedules - done);
    trouble = await troubleOfSchedules(make(), { store, rounds, seed: seed + done });
  }
  isBroken ||= trouble !== undefined;
  const seconds = ((Date.now() - began) / 1_000).toFixed(0);
  console.log(`${name}: ${trouble ?? `${schedules} schedules held`} (${seconds} s)`);
}
process.exit(isBroken ? 1 : 0);
