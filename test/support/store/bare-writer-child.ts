import { writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** Measures the baseline: equal rows and acknowledgements over a bare connection, at a level that may lose commits. */
const [path = '', rows = '0', level = 'NORMAL'] = process.argv.slice(2);
const database = new DatabaseSync(path);
database.exec(
  `PRAGMA journal_mode = WAL; PRAGMA synchronous = ${level}; PRAGMA wal_autocheckpoint = 50`,
);
database.exec('CREATE TABLE events (id TEXT PRIMARY KEY, body TEXT)');
const insert = database.prepare('INSERT INTO events VALUES (?, ?)');
for (let number = 1; number <= Number(rows); number++) {
  insert.run(`e${number}`, String(number).repeat(40));
  writeSync(1, `ack ${number}\n`);
}
database.close();
