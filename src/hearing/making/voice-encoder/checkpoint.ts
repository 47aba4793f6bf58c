import { open } from 'node:fs/promises';
import { TrunklineError } from '../../../lib/errors.ts';
import { contentAt, localBytes, zipEntries } from '../zip.ts';

/** The opcode before a text in Python's pickle format. Four bytes with the length of the text follow. */
const textOpcode = 0x58;
const longestName = 200;

/**
 * Reads the tensors of a PyTorch checkpoint. It is a zip file with the numbers of each tensor in a file of their own,
 * and a program for Python's unpickler that assigns these files to tensors. This reader does not run that program. In
 * the one file whose checksum the catalogue names, each tensor's name is followed by the number of its file, both as
 * text.
 */
export async function tensorsOf(path: string): Promise<Map<string, Float32Array>> {
  await using file = await open(path);
  const entries = await zipEntries(file);
  const bytes = await file.readFile();
  const contents = new Map<string, Buffer>();
  for (const { name, method, bytes: length, offset } of entries) {
    if (method !== 0) throw invalid(`${name} is packed`);
    if (offset + localBytes > bytes.length) throw invalid('it ends inside its table of contents');
    const from = contentAt({ offset }, bytes.subarray(offset));
    if (from + length > bytes.length) throw invalid(`it ends inside ${name}`);
    contents.set(name, bytes.subarray(from, from + length));
  }
  const program = contents.get('archive/data.pkl');
  if (!program) throw invalid('it names no tensors');
  const tensors = new Map<string, Float32Array>();
  let name = '';
  for (const text of textsOf(program)) {
    const numbers = contents.get(`archive/data/${text}`);
    if (numbers) tensors.set(name, floatsOf(numbers));
    else if (text.includes('.')) name = text;
  }
  return tensors;
}

function* textsOf(program: Buffer): Generator<string> {
  for (let at = 0; at + 5 <= program.length; at++) {
    if (program[at] !== textOpcode) continue;
    const length = program.readUInt32LE(at + 1);
    if (length > longestName || at + 5 + length > program.length) continue;
    const text = program.toString('latin1', at + 5, at + 5 + length);
    if (!/^[\w.]+$/.test(text)) continue;
    yield text;
    at += 4 + length;
  }
}

/** A copy, because the numbers may not begin at a multiple of four. */
function floatsOf(bytes: Buffer): Float32Array {
  return new Float32Array(Uint8Array.from(bytes).buffer, 0, bytes.length >> 2);
}

function invalid(how: string): TrunklineError {
  return new TrunklineError(
    'MODEL_INVALID',
    `the voice encoder's file is no checkpoint of PyTorch: ${how}`,
  );
}
