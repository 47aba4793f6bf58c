/** The kinds of numbers that a word near a code or a question before it can name. */
export type CueKind =
  | 'card'
  | 'cvv'
  | 'expiry'
  | 'ssn'
  | 'routing'
  | 'bank'
  | 'account'
  | 'health'
  | 'id'
  | 'vehicle'
  | 'passport'
  | 'license'
  | 'zip'
  | 'phone'
  | 'birth'
  | 'none'
  | 'number';
