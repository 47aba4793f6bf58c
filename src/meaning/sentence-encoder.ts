import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TrunklineError } from '../lib/errors.ts';
import { digestOf } from '../lib/digest.ts';
import { loadOnnx, type Onnx, type OnnxSession } from '../hearing/decoder/onnx.ts';
import { directionFrom, directionSize, type SentenceDirection } from './directions.ts';
import { UnigramPieces } from './unigram-pieces.ts';
import { WordPieces } from './word-pieces.ts';

export const graphFile = 'sentences.onnx';
export const vocabularyFile = 'vocab.txt';
/** The encoder of many languages has this file in place of a vocabulary. */
export const piecesFile = 'pieces.bin';
/** The encoder of many languages was taught with one of two words in front of each text. This one is for comparisons. */
const lead = 'query: ';

/** The network that gives a sentence its direction. It blocks while it runs, so only a process of its own holds it. */
export class SentenceEncoder {
  readonly #onnx: Onnx;
  readonly #session: OnnxSession;
  readonly #cut: (text: string) => number[];

  private constructor(onnx: Onnx, session: OnnxSession, cut: (text: string) => number[]) {
    this.#onnx = onnx;
    this.#session = session;
    this.#cut = cut;
  }

  /** Reads the model from its folder. A file with another checksum could end the process, so it is refused first. */
  static async open(folder: string, known: ReadonlyMap<string, string>): Promise<SentenceEncoder> {
    const onnx = loadOnnx();
    if ('missing' in onnx) throw new TrunklineError('MODEL_INVALID', onnx.missing);
    const read = async (name: string) => {
      const bytes = await readFile(join(folder, name));
      if (digestOf(bytes) !== known.get(name))
        throw new TrunklineError('MODEL_INVALID', `${name} is not the file it should be: its sha256 differs`); // prettier-ignore
      return bytes;
    };
    const cut = known.has(piecesFile)
      ? cutsOf(new UnigramPieces(await read(piecesFile)))
      : cutsOf(new WordPieces((await read(vocabularyFile)).toString('utf8')), '');
    return new SentenceEncoder(onnx, await onnx.open(await read(graphFile)), cut);
  }

  /** One sentence a run: others beside it would change its direction. */
  directionOf(text: string): SentenceDirection {
    const ids = BigInt64Array.from(this.#cut(text), BigInt);
    const feeds = { ids: this.#onnx.integers(ids, [1, ids.length]) };
    const { direction } = this.#session.run(feeds, ['direction']);
    if (direction?.data.length !== directionSize)
      throw new TrunklineError('MODEL_INVALID', 'the sentence encoder gave no direction');
    return directionFrom(direction.data as Float32Array);
  }
}

function cutsOf(pieces: UnigramPieces | WordPieces, before = lead): (text: string) => number[] {
  return (text) => pieces.of(before + text);
}
