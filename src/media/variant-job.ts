export interface VariantJob {
  readonly fileId: string;
}
