import type { Health } from '../lib/health.ts';
import { version } from '../lib/version.ts';
import type { Installation } from '../protocol/api.ts';

export type InstallationFacts = {
  publicUrl: () => string;
  roles: readonly string[];
  insecure: boolean;
  startedAtMs: number;
  health: () => Promise<Record<string, Health>>;
  recogniser: (() => NonNullable<Installation['recogniser']>) | undefined;
};

/** What the installation view shows: never a key, a token or an address with one in it. */
export async function installationNow(facts: InstallationFacts): Promise<Installation> {
  return {
    version,
    node: process.version,
    started_at: new Date(facts.startedAtMs).toISOString(),
    public_url: facts.publicUrl(),
    roles: [...facts.roles],
    insecure: facts.insecure,
    health: await facts.health(),
    recogniser: facts.recogniser?.() ?? null,
    memory_bytes: process.memoryUsage.rss(),
  };
}
