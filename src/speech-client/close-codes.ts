export type CloseAction =
  /** The session is over in good order. */
  | 'finished'
  /** Same address again. */
  | 'resume'
  /** The session is gone; a leg that still has audio needs a new one. */
  | 'renew'
  /** The service says that there are too many sessions: a new one, when it is our turn. */
  | 'renew-later';

/** Notes 2.4: the vendor's own clients come back on 1002 to 4399 and from 4500 on, never on 44xx. */
export function closeAction(code: number): CloseAction {
  if (code === 1000) return 'finished';
  if (code === 1001) return 'renew';
  if (code < 4400) return 'resume';
  if (code === 4429) return 'renew-later';
  if (code < 4500) return 'renew';
  return 'resume';
}
