/* Tables of the panel in an agent's desktop. */

export type PanelTokensTable = {
  id: string;
  /** The digest of the token, which is kept nowhere. */
  digest: string;
  scope: 'agent' | 'call' | 'supervisor' | 'qa';
  agent: string | null;
  call_id: string | null;
  /** The teams to whose calls it is bound, as JSON. Null: to none. */
  teams: string | null;
  label: string | null;
  created_at: number;
  expires_at: number;
  revoked_at: number | null;
};
