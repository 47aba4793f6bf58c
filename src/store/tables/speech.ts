/** Tables of the speech service. Times are ms since 1970, JSON is text. */
export type SpeechJobsTable = {
  id: string;
  kind: 'live' | 'pre-recorded';
  /** The node whose disk holds the audio: only it takes an unfinished session up again. */
  node: string;
  /** SHA-256 of the session's token: a stolen database opens no socket. */
  token_digest: string | null;
  status: 'queued' | 'processing' | 'done' | 'error';
  created_at: number;
  completed_at: number | null;
  error_code: number | null;
  custom_metadata: string | null;
  post_session_metadata: string;
  /** The effective request; without content when nothing may be stored. */
  request_params: string | null;
  audio_duration: number | null;
  channels: number | null;
  result: string | null;
  /** 1 when neither content nor result may be stored (zero data retention). */
  zero_retention: number;
  /** 1 while the session's log still holds callbacks that were not delivered. */
  callbacks_due: number;
};

export type SpeechTables = {
  speech_jobs: SpeechJobsTable;
};
