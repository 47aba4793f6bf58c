// The receiver of config/docs/webhooks.md: at-least-once in, once out. A test runs this very file.
// <receiver>
import { createServer } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { Webhook } from 'standardwebhooks';

type Event = { id: string; type: string; sequence: number; call: { id: string }; data: unknown };

export function startReceiver(secret: string, file: string, handle: (event: Event) => void) {
  const webhook = new Webhook(secret);
  const database = new DatabaseSync(file);
  database.exec('CREATE TABLE IF NOT EXISTS seen (call TEXT PRIMARY KEY, sequence INTEGER)');
  const seen = database.prepare('SELECT sequence FROM seen WHERE call = ?');
  const keep = database.prepare('INSERT OR REPLACE INTO seen VALUES (?, ?)');
  return createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      let event: Event;
      try {
        // The bytes as they came: parsing and printing them again would change the signature.
        event = webhook.verify(
          Buffer.concat(chunks),
          request.headers as Record<string, string>,
        ) as Event;
      } catch {
        response.writeHead(401).end();
        return;
      }
      // The highest number of each call is enough, because events of a call come in order.
      const highest = Number(seen.get(event.call.id)?.['sequence'] ?? 0);
      if (event.sequence > highest) {
        // The changes of the event and its number go into one transaction: both, or neither.
        database.exec('BEGIN');
        handle(event);
        keep.run(event.call.id, event.sequence);
        database.exec('COMMIT');
      }
      response.writeHead(204).end(); // for a repetition too: it has been handled
    });
  });
}
// </receiver>
