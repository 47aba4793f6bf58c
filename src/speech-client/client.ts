/** One per process: creates, reads and erases live sessions at one speech service. */
export type SpeechClient = AsyncDisposable & {
  /** DELETE /v2/live/{id}, tried again while the service still finishes the session. */
  erase(sessionId: string): Promise<'erased' | 'unknown' | 'failed'>;
  health(): { state: 'ok' | 'degraded' | 'down'; detail?: string };
};
