/** One message of a stream of server-sent events. */
export type StreamedMessage = { id: string | undefined; event: string; data: string };

/** A message that does not end within this many characters was not sent by us, and is not read further. */
const maxMessageLength = 8 * 1_048_576;

/**
 * The messages of a stream of server-sent events. The next chunk is read only after the last message was taken, so a
 * slow reader slows down the sender and stores nothing. Comments are heartbeats and are skipped.
 */
export async function* messagesOf(
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<StreamedMessage, void> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    if (text.length > maxMessageLength) throw new Error('a message of the stream has no end');
    for (const block of blocks) {
      const message = messageOf(block);
      if (message !== undefined) yield message;
    }
  }
}

function messageOf(block: string): StreamedMessage | undefined {
  const data: string[] = [];
  let id: string | undefined;
  let event = 'message';
  for (const line of block.split('\n')) {
    const [, field, value = ''] = /^(\w+): ?(.*)$/s.exec(line) ?? [];
    if (field === 'data') data.push(value);
    else if (field === 'id') id = value;
    else if (field === 'event') event = value;
  }
  return data.length === 0 ? undefined : { id, event, data: data.join('\n') };
}
