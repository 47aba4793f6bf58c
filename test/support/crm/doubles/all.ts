import type { CrmDouble } from './double.ts';
import { DynamicsDouble } from './dynamics.ts';
import { FreshdeskDouble } from './freshdesk.ts';
import { GenericDouble } from './generic.ts';
import { HubspotDouble } from './hubspot.ts';
import { PipedriveDouble } from './pipedrive.ts';
import { SalesforceDouble } from './salesforce.ts';
import { TrytonDouble } from './tryton.ts';
import { ZendeskDouble } from './zendesk.ts';
import { ZohoDouble } from './zoho.ts';

/** A double of each CRM that has a preset. */
export const doubles: Record<string, () => CrmDouble> = {
  dynamics: () => new DynamicsDouble(),
  freshdesk: () => new FreshdeskDouble(),
  generic: () => new GenericDouble(),
  hubspot: () => new HubspotDouble(),
  pipedrive: () => new PipedriveDouble(),
  salesforce: () => new SalesforceDouble(),
  tryton: () => new TrytonDouble(),
  zendesk: () => new ZendeskDouble(),
  zoho: () => new ZohoDouble(),
};
