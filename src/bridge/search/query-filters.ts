/**
 * Filters in the words of a search, as `tag:refund mood:negative entity:"ORGANIZATION:Acme Ltd"`. Pure. `agent:` and
 * `customer:` are parties there, so the filter by agent has its own field alone.
 */
const filterNames = {
  tag: 'tag',
  mood: 'mood',
  entity: 'entity',
  disposition: 'disposition',
  rule: 'rule',
  carrier: 'carrier',
  direction: 'direction',
  number: 'number',
  from: 'from_date',
  to: 'to_date',
} as const;

const examples: Record<(typeof filterNames)[FilterName], string> = {
  tag: 'tag:vip',
  mood: 'mood:negative',
  entity: 'entity:ORGANIZATION',
  disposition: 'disposition:sold',
  rule: 'rule:sales/cancel',
  carrier: 'carrier:name',
  direction: 'direction:inbound',
  number: 'number:5550100123',
  from_date: 'from:2026-11-01',
  to_date: 'to:2026-11-30',
};

type FilterName = keyof typeof filterNames;

/** `filters`: by the names of the list's parameters. `q`: the rest of the words. */
type SplitQuery = { q: string; filters: Record<string, string> } | { problem: string };

/** A phrase is passed over as a whole: what it quotes is no filter. */
const pieces = new RegExp(
  `"[^"]*"|(?<![^\\s(])(?<not>-?)(?<name>${Object.keys(filterNames).join('|')}):(?:"(?<quoted>[^"]*)"|(?<bare>[^\\s"()]+))?`,
  'giu',
);

export function splitQuery(text: string): SplitQuery {
  const filters: Record<string, string> = {};
  let problem: string | undefined;
  const q = text.replace(pieces, (whole, ...rest) => {
    const { not, name, quoted, bare } = rest.at(-1) as Record<string, string | undefined>;
    if (name === undefined) return whole;
    const filter = filterNames[name.toLowerCase() as FilterName];
    if (not === '-') problem = `${name}: finds calls that have it, and cannot have a minus`;
    else if ((quoted ?? bare ?? '').trim() === '')
      problem = `${name}: needs a value, such as ${examples[filter]}; one with spaces stands in quotation marks`;
    else if (filters[filter] !== undefined) problem = `${name}: can be given once`;
    filters[filter] = quoted ?? bare ?? '';
    return ' ';
  });
  return problem === undefined ? { q: q.replace(/\s+/g, ' ').trim(), filters } : { problem };
}
