/** The row of an ended call that nothing special happened to. */
export function callRow(id: string, startedAt: number) {
  return {
    id,
    node: 'node-1',
    carrier: 'twilio',
    carrier_call_id: `CA${id}`,
    state: 'ended' as const,
    direction: 'inbound' as const,
    from_number: '+15550100123',
    to_number: '+15550100200',
    started_at: startedAt,
    zero_at: startedAt,
    hung_up_at: startedAt + 60_000,
    ended_at: startedAt + 60_500,
    end_reason: 'stop' as const,
    custom_metadata: '{}',
    overrides: '{}',
    warnings: '[]',
    counts: '{}',
    paused: 0,
    summary_due: 0,
    has_recording: 0,
    recover_tries: 0,
  };
}

/** The finals of that call, five seconds each, as rows of its leg's results. */
export function finalRows(
  callId: string,
  lines: readonly (readonly [role: 'agent' | 'customer', text: string])[],
) {
  return lines.map(([role, text], at) => ({
    ...{ leg_id: `leg${callId}`, session_id: 'session', kind: 'call.transcript', key: String(at) },
    ...{ call_id: callId, role, start_s: at * 5, end_s: at * 5 + 4, text },
  }));
}
