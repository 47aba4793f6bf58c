import type { MoonshineReader } from '../decoder/moonshine-reader.ts';
import type { Sherpa } from '../engine/sherpa.ts';
import type { Model } from '../models/model-folder.ts';
import { DecodedModel } from './decoded-model.ts';
import { type NativeDescription, OfflineModel, type PieceModel } from './offline-model.ts';

/** A model of the native engine, read by our own decoder where there is a reader for it. */
export function nativeModel(
  sherpa: Sherpa,
  folder: Model,
  description: NativeDescription,
  reader: MoonshineReader | undefined,
): PieceModel {
  return reader
    ? new DecodedModel(reader, description.languages)
    : new OfflineModel(sherpa, folder, description);
}
